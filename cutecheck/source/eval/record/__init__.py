"""What the evaluation leaves behind: sites, events, buffers, launches, hypotheses."""

from cutecheck.source.eval.record.buffers import BufferRecorder
from cutecheck.source.eval.record.events import EventRecorder
from cutecheck.source.eval.record.sites import SiteRecorder


class Recorder(SiteRecorder, BufferRecorder, EventRecorder):
    """Collects the facts of one machine."""
