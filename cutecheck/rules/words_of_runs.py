"""What findings say of faults in runs of kernels pass by pass, by the kind of fault."""

from __future__ import annotations

# message, label, help, and what the other place is
SAID: dict[str, tuple[str, str, str, str]] = {
    "early": (
        "`{name}` reads tile {tile} of its buffer before the cp.async that brings it has been waited for: the data "
        "need not be there", "run pass by pass, the copy is still under way here",
        "wait for the tile's group before the barrier (cp_async_wait<N> with a smaller N)",
        "copied asynchronously here",
    ),
    "landing": (
        "`{name}` is stored where a cp.async may still bring another tensor's tile {tile}, which nothing has waited "
        "for: what lands last stays", "run pass by pass, the copy is still under way here",
        "wait for all groups before the barrier (cp_async_wait<0>)", "copied asynchronously here",
    ),
    "unlanded": (
        "`{name}` is stored where other threads' cp.async may still bring another tensor's tile {tile}: no barrier "
        "comes after their wait for it", "no barrier since the wait", "put __syncthreads() after the wait",
        "copied asynchronously here",
    ),
    "unseen": (
        "`{name}` reads what other threads have copied to shared memory, and no barrier comes after their wait for it: "
        "what a thread has waited for the others need not see", "no barrier since the wait",
        "put __syncthreads() after the wait", "copied here",
    ),
    "overwritten": (
        "`{name}` is copied to where shared memory has been read, and no barrier comes between: other threads may "
        "not be done with it", "read before, no barrier since",
        "put __syncthreads() between the two, or fill another stage",
        "read here",
    ),
    "carried": (
        "this product is added to `{name}`, which nothing has set since the block's last tile: the sum of one tile "
        "goes on with that of the one before", "added to the last tile's sum",
        "clear the accumulators for each tile, in the loop from tile to tile", "used here",
    ),
    "kept": (
        "this product is added to `{name}`, a sum that other warps have copied from tensor memory before: the next "
        "sum begins with the last one", "added to the last sum",
        "replace what is there in the first product of each sum (ACCUMULATE = false)", "copied here",
    ),
    "replaced early": (
        "`{name}` gets a new sum in tensor memory while other warps may still copy the last one from there: nothing "
        "tells this thread that they are done", "run side by side, the accumulators need not be free",
        "wait for the accumulators' empty barrier before the first MMA (producer_acquire); arrive there after the copy",
        "copied here",
    ),
    "given back": (
        "`{name}` is copied from tensor memory, and nothing tells the warp that gives the memory back that this is "
        "done", "run side by side, the memory may be another block's by then",
        "let the warps that copy meet the one that calls dealloc_tmem at a barrier before it does",
        "given back here",
    ),
    "unready": (
        "`{name}` reads a stage that TMA fills, and this thread has not waited for the phase of the barrier that says "
        "that tile {tile} has come", "run pass by pass, the load need not be done here",
        "wait for the stage's full barrier, in the phase of this pass, before it is read",
        "loaded here",
    ),
    "unreleased": (
        "TMA loads to `{name}` while other threads may still read tile {tile} there", "run pass by pass, nothing says "
        "that the stage is free",
        "wait for the stage's empty barrier before the load; arrive there after the stage was read",
        "read here",
    ),
    "lost": (
        "tile {tile} of the buffer is copied to `{name}`, overwritten, and never read, as others of its tiles are: "
        "what is computed lacks it", "run pass by pass, no read of this tile",
        "read each stage once before it is filled again", "",
    ),
    "loaded over": (
        "TMA loads to `{name}` where it loads another tensor's tile at the same time, to the same bytes: the thread "
        "has not waited in between, and one of the two tiles is lost", "the same bytes again",
        "give each tensor a place of its own in shared memory", "loaded here before",
    ),
    "unused": (
        "tile {tile} of the buffer is copied to `{name}` and never used, as all other tiles of its matrix are: what is "
        "computed lacks it", "run pass by pass, nothing multiplies or reads this tile",
        "let the loop that reads go on until the last tile that is copied was read", "",
    ),
    "blank": (
        "`{name}` is a stage of its buffer to which nothing has been copied yet, as it has been to others: it is read "
        "before it is filled", "run pass by pass, filled only later",
        "read the stage that was filled for this pass", "filled later, here",
    ),
    "twice": (
        "`{name}` holds tile {tile} of its buffer, which was multiplied with the same tile before, and summed up: the "
        "product counts twice", "run pass by pass, the same product again",
        "advance the stage, or the tile that is copied, in each pass", "multiplied here before",
    ),
    "mixed": (
        "`{name}` holds tile {tile} of its buffer, and is multiplied with another tile of B than belongs to it: in one "
        "sum each tile of A meets one tile of B", "run pass by pass, tiles of A and B are apart",
        "copy A and B of the same k, to stages that are read together", "B's tile is copied here",
    ),
    "stale": (
        "`{name}` still holds tile {tile} of its buffer, which nothing has filled since, and is multiplied with one "
        "tile of the other operand after the other, all in one sum", "run pass by pass, the same part again",
        "fill the stage anew in each pass, as the other operand's is", "filled here",
    ),
    "astray": (
        "`{name}` is copied to shared memory that tiles of another matrix are copied to in other passes, and the same "
        "tile goes to a place of its own, too: the other matrix's tile is not copied", "a tile of another matrix",
        "copy the tile of the matrix that this shared memory is for", "copied to its own place here",
    ),
    "unset": (
        "the product is added to `{name}`, which nothing has set before", "not cleared",
        "clear(...) the accumulators before the main loop", "",
    ),
    "past stage": (
        "`{name}` is sliced at {past[0]} of a mode with the coordinates 0 .. {last}, when the kernel is run pass by "
        "pass: there is no such stage or slice, and what lies elsewhere is used for it", "{past[0]} of 0 .. {last}",
        "start again at 0 after the last one: (stage + 1) % stages; count by the extent of the tensor that is sliced",
        "",
    ),
    "missed": (
        "the mode that `{name}` is sliced along has the coordinates 0 .. {last}, and the kernel, run pass by pass, "
        "takes others and never {past[0]}: what is computed lacks this tile", "{past[0]} of 0 .. {last} is left out",
        "let the loop go through all tiles, from 0 to the extent of the mode", "",
    ),
    "unwalked": (
        "the loads to the buffer of `{name}` are as many as its tensor has tiles along a mode, and this tile was "
        "loaded before: when the kernel is run pass by pass, others never are, and what is computed lacks them",
        "loaded before, and others never are", "take the next tile in each pass", "",
    ),
    "ahead": (
        "`{name}` is tile {past[0]} along a mode with the tiles 0 .. {last}: in each pass it is another tile than the "
        "other operand's, of which the same barrier is told, and as many as do not exist are never loaded",
        "{past[0]} of 0 .. {last}", "take the same tile of both operands in each pass", "",
    ),
    "miscounted": (
        "the tiles of `{name}` are loaded one after the other, and how many is decided by the extent of another mode, "
        "along which no tiles are loaded: unless the two are equal, tiles are missing, or others do not exist",
        "counted by another extent", "count the passes by the extent of the mode that is summed over", "",
    ),
    "unpaired": (
        "`{name}` is multiplied with several slices of the other operand, all in one sum: in one sum each slice of A "
        "meets one of B", "the same slice again", "take the same slice of both operands in each step along K",
        "multiplied here before",
    ),
    "wrapped": (
        "`{name}` is a tile that was loaded before, while those that the same barriers are told of go on: in one sum "
        "each tile of A meets one of B", "run pass by pass, the first tiles again",
        "count the tiles of both operands by the same number (not by the stage, which starts again)", "",
    ),
    "displaced": (
        "a tile is stored to `{name}` that starts at {past[0]} of {past[1]} along one of its modes, and along that "
        "mode no operand is loaded there when the kernel is run: it is the tile of other coordinates",
        "at {past[0]}, where no operand was loaded",
        "take all three tiles by one (m, n): the rows of A and of C by m, those of B and the columns of C by n", "",
    ),
    "mislaid": (
        "`{name}` is a tile that starts at {past[0]} of {past[1]} along one of its modes, and no operand of the "
        "products is loaded there along that mode when the kernel is run: it belongs to another tile than those",
        "at {past[0]}, where no operand was loaded",
        "take it by the coordinates of the operand that it belongs to", "",
    ),
    "apart": (
        "`{name}` is not a tile that is loaded of the other tensor, which has the same modes and as many loads: tiles "
        "of the two that belong together are apart", "another tile, or head, than the other tensor's",
        "take the tiles of both by the same numbers", "the other tensor's tile is loaded here",
    ),
    "odd": (
        "`{name}` is taken at {past[0]} of {past[1]}, of a mode that other tensors have, too, and these are taken at "
        "other elements of it when the kernel is run", "at {past[0]} of {past[1]}",
        "choose the element (a head, a group, a matrix of a batch) of all by the same number",
        "another tensor's element is taken here",
    ),
    "of both": (
        "all tiles that are stored to `{name}` when the kernel is run are those that the next block of its cluster "
        "stores, too: their coordinates do not say which block of the cluster it is, so other tiles are never computed",
        "the same for both blocks", "take the coordinate that the cluster's blocks share out by the block's rank", "",
    ),
    "of neighbour": (
        "in the second block of the cluster `{name}` starts at {past[0]} of {past[1]} along one of its modes, and "
        "along that mode no operand is loaded there: which block it is says where the one is taken, not the other",
        "at {past[0]} in the second block",
        "take all tiles by coordinates that say which block of the cluster it is", "",
    ),
    "untold": (
        "all loads to `{name}` tell one barrier, and the thread announces bytes to others of its array in between: "
        "these wait for bytes that never come, and that one is told of too many", "the same barrier in each pass",
        "tell the barrier of the stage that is loaded", "bytes are announced to another barrier here",
    ),
    "unmultiplied": (
        "the products take slices of `{name}`, and of the other operand, along K, of the coordinates 0 .. {last}, and "
        "never {past[0]}, in no tile: the sums lack it", "{past[0]} of 0 .. {last} is left out",
        "multiply all slices of each tile, as many as the mode of the fragment has", "",
    ),
    "shifted": (
        "`{name}` is not the slice along K that belongs to that of A: in all tiles each slice of A is multiplied with "
        "one of B that lies before or behind it", "another slice than A's",
        "copy the same slice of both operands, to the slices of the fragments that are multiplied", "",
    ),
    "doubled": (
        "`{name}` is copied to a slice of a fragment, and was copied to another slice of it before: one of its tile's "
        "slices goes to two of the fragment, and another one to none", "this slice again",
        "copy each slice to the slice of the fragment with the same coordinate", "",
    ),
    "outside": (
        "`{name}` is a stage that ends {past[0]} bytes behind the start of its array, and only {past[1]} bytes are "
        "allocated there", "run pass by pass, the kernel takes this stage, too",
        "allocate cosize of the layout with all stages, and launch with its bytes", "",
    ),
    "torn": (
        "`{name}` reads tile {tile} of its tensor after another tensor's tile has been copied over a part of it: the "
        "two lie over one another in shared memory", "run pass by pass, not all of it is the tile any more",
        "start each tensor behind the cosize of all stages of the one before it, and allocate the bytes of both",
        "copied over it here",
    ),
    "overlaid": (
        "`{name}` is written where other warps may still use what lies there: nothing tells this thread that "
        "they are done with it", "the block's threads run side by side, nothing holds this one back",
        "let the threads that use it come to a barrier before (NamedBarrier::sync, __syncthreads)", "used here",
    ),
    "undue": (
        "`{name}` is written where TMA loads another tensor's tile, and nothing says that it has come: it may arrive "
        "later, over what is written", "no wait for the phase of this load",
        "load no tile that nothing waits for, or wait for it before the memory is used again", "loaded here",
    ),
    "undrained": (
        "`{name}` is written while a TMA store may still read it: its thread has not waited for the group, or nothing "
        "says that it has", "the store need not have read it",
        "tma_store_wait<0>() by the thread that stores, then a barrier, before it is written again", "stored here",
    ),
    "left open": (
        "TMA stores `{name}`, and its thread ends without a wait for all of its stores: the block's shared memory may "
        "be another's before it has been read", "run pass by pass, not waited for at the end",
        "wait for all stores behind the last one (producer_tail(), tma_store_wait<0>)", "",
    ),
    "unstored": (
        "TMA stores `{name}`, which other threads have written, and no barrier comes between: what they write need "
        "not be there", "no barrier since", "fence, then a barrier of all that write, then the store", "written here",
    ),
    "crowded": (
        "{tile} threads come to a named barrier that counts {number}: it opens before all have come",
        "{number} are counted, {tile} come", "count all threads that sync and arrive there", "",
    ),
    "shut": (
        "{tile} threads come to a named barrier that counts {number}, and all others are done or wait as well: it "
        "never opens", "{number} are counted, {tile} come", "count the threads that sync and arrive there", "",
    ),
    "stuck": (
        "this wait never ends: nothing ends phase {number} of its barrier before it, and all other threads are done or "
        "wait as well", "the kernel stops here for ever, run pass by pass",
        "start the producer at the phase that counts as over (1: nothing is in the stages yet), and flip it each time "
        "that the stages come round", "others wait here",
    ),
    "starved": (
        "the barrier of this stage is told of bytes (as where the stage is acquired), and nothing is loaded for it "
        "before it is told again, if ever: whoever waits for it waits for ever",
        "run pass by pass, no load tells its barrier",
        "load once for each stage that is acquired, and tell the barrier that was told of the bytes", "",
    ),
    "repeated": (
        "TMA is told to load `{name}` by several threads of one warp, the same tile at the same time: each of them "
        "brings all of its bytes, and the barrier expects those of one", "loaded by each lane that comes here",
        "let one thread load (elect_one_sync(), or one thread's index)", "",
    ),
    "heaped": (
        "TMA loads to `{name}`, where another load brings a tile of the same pass: one of them is lost, and what the "
        "other place of the stage holds is none of this pass's", "to the same place, for the same phase",
        "load each tile to a part of the stage that is its own", "loaded here, too",
    ),
    "outrun": (
        "this wait is for parity {number}, of a phase that this thread knows to be over: where the others come first, "
        "the next one is over, too, and the wait never ends", "it ends only where this thread is early enough",
        "wait for each phase in turn: start at the phase that counts as over, and flip it each time that the stages "
        "come round", "others wait here",
    ),
    "scant": (
        "{barrier} counts {number} arrival(s) a phase, and {tile} come, too few for the phases that are waited for: "
        "a wait for it never ends", "{number} counted, {tile} come",
        "initialise it with as many as arrive in one phase", "",
    ),
    "overfull": (
        "{barrier} counts {number} arrival(s) a phase, and {tile} come, more than the phases that are waited for "
        "take: a phase is over before all have arrived", "{number} counted, {tile} come",
        "initialise it with as many as arrive in one phase, or let fewer arrive (one thread of each warp, say)", "",
    ),
    "replaced": (
        "this product replaces what is in `{name}`, a sum that nothing has used: it is not added to it "
        "(ScaleOut::Zero)", "not added", "accumulate_ = ScaleOut::One after the first product", "lost",
    ),
    "unfinished": (
        "`{name}` is used while the WGMMA that computes it may still run: its group has not been waited for",
        "no warpgroup_wait since", "commit the group and wait for it (warpgroup_wait<0>)", "computed here",
    ),
    "unordered": (
        "this WGMMA uses the registers of `{name}`, and no fence comes since the thread itself last used them: it may "
        "find there what was in them before", "no wgmma.fence since",
        "put warpgroup_arrive() between the two: once after all that is done with accumulators and A's registers",
        "used here",
    ),
    "refilled": (
        "`{name}` is filled while a WGMMA that reads these registers as A may still run: its group has not been waited "
        "for", "no warpgroup_wait that tells of this group",
        "wait before registers of A are filled anew (warpgroup_wait<N> in each step, N groups later), or fill others",
        "read here",
    ),
    "uninitialised": (
        "barrier {tile} of its array is used, and nothing initialises it, as others of the array are",
        "barrier {tile}", "initialise each barrier of the array", "others are initialised here",
    ),
    "made twice": (
        "{barrier} is initialised to count {number} arrival(s) a phase, and was initialised to count {tile} before, "
        "with nothing done at it in between: two barriers lie at one place", "{number} counted here",
        "give each barrier a place of its own", "initialised to count others here",
    ),
    "unmade": (
        "a barrier in shared memory is used, and nothing in the kernel initialises it: what lies there is no barrier",
        "never initialised", "let one thread initialise it, and all come to a fence and __syncthreads() before its "
        "first use", "",
    ),
    "premature": (
        "a barrier in shared memory is used, and nothing says to this thread that it has been initialised: another one "
        "does that, and no barrier of the block comes between", "no barrier since it is initialised",
        "put a fence and __syncthreads() (cluster_sync() in a cluster) behind the initialisation", "initialised here",
    ),
    "under way": (
        "TMA loads `{name}`, and nothing waits for it before the kernel ends, as it does for the loads before: the "
        "block may end while its shared memory is written", "run pass by pass, nothing waits for this load",
        "load only while there is a next tile, or wait for all that was loaded before the end", "",
    ),
    "unwritten": (
        "`{name}` is read, and nothing has written these registers before", "never written",
        "copy what is meant into it first, or clear it", "",
    ),
    "unfilled": (
        "`{name}` is read, and nothing in the kernel writes this shared memory", "never written",
        "copy what is meant into it first", "",
    ),
    "passed on": (
        "`{name}` is read to be stored, and nothing but an operand of the product was copied to this shared memory: "
        "the kernel stores what it has loaded, and no copy stores what it computes", "only an operand lies here",
        "copy the results to this shared memory first", "",
    ),
    "unfenced": (
        "`{name}` is multiplied, which threads have written, and no fence between the proxies comes between: MMAs of "
        "shared memory read it through the asynchronous proxy, and may find what was there before",
        "no fence of the proxies since", "put fence_view_async_shared() between the writes and "
        "the barrier", "written here",
    ),
    "unflushed": (
        "TMA stores `{name}`, which threads have written before, and no fence between the proxies comes between: it "
        "may store what was there before", "no fence of the proxies since",
        "put tma_store_fence() between the writes and the barrier", "written here",
    ),
    "unsettled": (
        "`{name}` is multiplied while other warps may still write it: nothing tells this thread that they are done",
        "no barrier since", "let all that write it come to a barrier first (NamedBarrier, an mbarrier)", "written here",
    ),
    "past tile": (
        "`{name}` is sliced at {past[0]} of a mode with the coordinates 0 .. {last}, when the kernel is run pass by "
        "pass: there is no such tile, and the copy leaves the matrix", "{past[0]} of 0 .. {last}",
        "copy only while there is a next tile, or stay at the last one", "",
    ),
    "before": (
        "`{name}` starts {tile} elements before the memory that the kernel is given, when it is run pass by pass: the "
        "loop has copied the first tile, and goes on to one before it", "there is no tile before the first",
        "copy only while there is a next tile (if (n > n_min)), or end the loop at the first", "",
    ),
}  # fmt: skip
