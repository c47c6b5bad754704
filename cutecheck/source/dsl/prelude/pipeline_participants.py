"""Producers and consumers of the pipelines of ``cutlass.pipeline``, in runs. Read by the evaluator, never imported."""


class _Handle:
    def __init__(self, origin, state):
        self.origin = origin
        self.state = state

    @property
    def index(self):
        return self.state.index

    @property
    def count(self):
        return self.state.count

    def get_origin(self):
        return self.origin


class _ProducerHandle(_Handle):
    @property
    def barrier(self):
        return self.origin.producer_get_barrier(self.state)

    def commit(self, loc=None, ip=None):
        self.origin.producer_commit(self.state)


class _ConsumerHandle(_Handle):
    @property
    def barrier(self):
        return self.origin.consumer_get_barrier(self.state)

    def release(self, loc=None, ip=None):
        self.origin.consumer_release(self.state)


class _Participant:
    def __init__(self, pipeline, state, group=None):
        self.pipeline = pipeline
        self.state = state
        self.group = group

    def reset(self, loc=None, ip=None):
        self.state.reset_count()

    def advance(self, count=1, loc=None, ip=None):
        self.state.advance(count)


class PipelineProducer(_Participant):
    def clone(self):
        return PipelineProducer(self.pipeline, self.state.clone(), self.group)

    def current_handle(self):
        return _ProducerHandle(self.pipeline, self.state.clone())

    def acquire(self, try_acquire_token=None, loc=None, ip=None, **kwargs):
        self.pipeline.producer_acquire(self.state, try_acquire_token, **kwargs)
        return _ProducerHandle(self.pipeline, self.state.clone())

    def acquire_and_advance(self, try_acquire_token=None, loc=None, ip=None, **kwargs):
        handle = self.acquire(try_acquire_token, **kwargs)
        self.state.advance()
        return handle

    def try_acquire(self, loc=None, ip=None):
        return self.pipeline.producer_try_acquire(self.state)

    def commit(self, handle=None, loc=None, ip=None):
        self.pipeline.producer_commit(self.state if handle is None else handle.state)

    def tail(self, loc=None, ip=None):
        self.pipeline.producer_tail(self.state)


class PipelineConsumer(_Participant):
    def clone(self):
        return PipelineConsumer(self.pipeline, self.state.clone(), self.group)

    def current_handle(self):
        return _ConsumerHandle(self.pipeline, self.state.clone())

    def wait(self, try_wait_token=None, loc=None, ip=None):
        self.pipeline.consumer_wait(self.state, try_wait_token)
        return _ConsumerHandle(self.pipeline, self.state.clone())

    def wait_and_advance(self, try_wait_token=None, loc=None, ip=None):
        handle = self.wait(try_wait_token)
        self.state.advance()
        return handle

    def try_wait(self, loc=None, ip=None):
        return self.pipeline.consumer_try_wait(self.state)

    def release(self, handle=None, loc=None, ip=None):
        self.pipeline.consumer_release(self.state if handle is None else handle.state)
