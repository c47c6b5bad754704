"""Names of functions and methods that write no variable which they are given by its name, by whose they are.

Each word is a name: of C and CUDA, of CuTe and CUTLASS (4.7), of the standard library, and methods of their classes.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MATH = _words(
    """
    abs acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh cospi erf erfc erfcinv erfcx erfinv
    exp exp10 exp2 expm1 fabs fdim fdivide floor fma fmax fmin fmod hypot ilogb ldexp lgamma llrint llround log
    log10 log1p log2 logb lrint lround max min nearbyint nextafter norm3d norm4d normcdf normcdfinv pow rcbrt
    remainder rhypot rint rnorm3d round rsqrt scalbln scalbn signbit sin sinh sinpi sqrt tan tanh tgamma trunc
    isnan isinf isfinite isnormal labs llabs
"""
)
OF_C = _words(
    """
    assert abort exit free malloc calloc realloc memcpy memset memmove memcmp printf fprintf sprintf snprintf
    puts putchar fputs fflush fopen fclose fread fwrite getenv atoi atol atoll atof strtol strtoul strtoll
    strtod strcmp strncmp strlen strcpy strstr strcat strncpy strchr rand srand time clock clock64 usleep
    nanosleep alloca aligned_alloc perror umulhi mul24 umul24 dim3 hexp hexp2 hexp10 hlog hlog2 hlog10 hrsqrt
    hsqrt hrcp hsin hcos htanh hfloor hceil hrint htrunc h2exp h2exp2 h2exp10 h2log h2log2 h2log10 h2rsqrt
    h2sqrt h2rcp h2sin h2cos h2tanh h2floor h2ceil h2rint h2trunc
"""
)
CUTE = _words(
    """
    all_of any_of none_of tapply as_arithmetic_tuple basis_get basis_value bit_cast bit_ceil bit_floor
    colex_geq colex_gtr colex_leq colex_less compact cooperative_prefetch countl_one countl_zero
    countr_one countr_zero crd2idx_horner elect_one_leader_sync elem_scale escan evenly_divides
    explode_tuple filter_tuple flatten_to_tuple fold_first for_each_leaf
    initialize_preferred_cluster_launch inner_product is_byte_aligned iscan lex_geq lex_gtr lex_leq
    lex_less make_basis_like make_gmma_desc make_instr_desc make_int_tuple_from make_inttuple_iter
    make_mixed_bits make_sparse_ptr make_swizzle make_swizzle_ptr make_tma_copy_A_sm100 make_tma_copy_B_sm100
    make_tma_copy_C_sm100 make_tma_copy_atom make_transform_iter make_umma_desc make_zip_tensor nratio
    num_digits popcount ratio replace_back replace_front rotl rotr safe_div shiftl shiftr signum
    static_value store_shared_remote tile_unzip tma_desc_wait_group tma_descriptor_fence_acquire
    tma_descriptor_fence_release to_array to_mixed_bits trait_ratio transform_leaf transform_layout tuple_cat
    tuple_repeat unwrap zip2_by shape_div elem_less ceil_div round_up print_type
"""
)
CUTLASS = _words(
    """
    absolute_value atomic_reduce bits_to_bytes bytes_to_bits calculate_multicast_mask calculate_umma_peer_mask
    clz const_max const_min cpasync_barrier_arrive cpasync_barrier_arrive_noinc cutlassGetStatusString
    cutlass_get_smem_pointer device_breakpoint fast_acos fast_asin fast_cos fast_exp fast_log fast_max fast_min
    fast_sin fast_sqrt fast_tanh fence_view_async_tmem_load fence_view_async_tmem_store fence_view_shared
    find_tmem_tensor_col_offset floor_pow_2 from_real initialize_barrier_array initialize_barrier_array_aligned
    initialize_barrier_array_pair initialize_barrier_array_pair_aligned is_continous_k_aligned lcm_cxx11
    make_Coord make_Coord_with_padding make_TensorRef make_TensorView pipeline_check_is_consumer
    pipeline_check_is_producer pipeline_init_arrive_relaxed pipeline_init_wait pipeline_is_consumer
    pipeline_is_producer reciprocal relatively_equal select_cluster_shape shared_store
    sm90_partition_for_epilogue sm100_tmem_warps spread_arrivals_to_warp spread_arrivals_to_warpgroup
    synclog_setup umma_arrive umma_arrive_2x1SM umma_arrive_2x1SM_sm0 umma_arrive_multicast
    umma_arrive_multicast_2x1SM umma_arrive_multicast_2x1SM_no_elect umma_arrive_multicast_no_elect
    warpgroup_reg_alloc warpgroup_reg_dealloc sm100_make_trivial_tiled_mma LaneId SmId arrive_and_expect_tx
    arrive sync allocate free get_workspace_size
"""
)
STANDARD = _words(
    """
    to_string stoi stol stoul stof stod accumulate clamp gcd lcm midpoint lerp make_tuple make_pair make_unique
    make_shared make_optional distance count equal size empty to_underlying bit_cast popcount countl_zero
    countr_zero bit_width has_single_bit complex string vector array pair tuple optional variant any bitset
    deque list map set unordered_map unordered_set initializer_list byte hash plus minus multiplies chrono
    seconds milliseconds microseconds nanoseconds sleep_for host_vector device_vector universal_vector allocator
    runtime_error logic_error invalid_argument get_if holds_alternative integral_constant numeric_limits
    max_element min_element any_of all_of none_of setw setprecision
"""
)
METHODS = _words(
    """
    get_slice get_thread_slice partition_A partition_B partition_C partition_D partition_S partition_fragment_A
    partition_fragment_B partition_fragment_C partition_shape_C retile retile_S retile_D make_fragment_A
    make_fragment_B make_fragment_C make_fragment_like get_tma_tensor get_tma_descriptor get_hier_coord
    get_flat_coord get_1d_coord get_layoutA_TV get_layoutB_TV get_layoutC_TV get_layoutS_TV get_layoutD_TV
    thrfrg_A thrfrg_B thrfrg_C tidfrg_S tidfrg_D with layout data engine shape stride size arrive
    arrive_and_wait arrive_and_expect_tx arrive_and_reset_bytes arrive_and_drop wait try_wait test_wait init
    sync expect_transaction complete_transaction consumer_wait consumer_try_wait consumer_test_wait
    consumer_release producer_acquire producer_try_acquire producer_commit producer_tail producer_get_barrier
    producer_expect_transaction order_barrier_wait advance index phase count allocate free
    release_allocation_lock begin end rbegin rend cbegin cend at front back push_back push_front pop_back erase
    resize reserve find contains length substr c_str str value value_or has_value to_string get reset empty
    clear dim sizes strides numel data_ptr mutable_data_ptr const_data_ptr item options dtype device
    is_contiguous contiguous view slice select narrow transpose permute unsqueeze squeeze index_select to
    device_data host_data device_ref host_ref device_view host_view sync_host sync_device extent capacity
    stride_a stride_b is_valid get_coord get_work_k_tile_count get_work_k_tile_start get_current_work
    is_final_split can_implement get_workspace_size initialize
"""
)
# what tensors of libraries are asked for without being changed: numbers, with how many arguments
NUMBERS = {
    "size": 1, "stride": 1, "dim": 0, "ndim": 0, "ndimension": 0, "numel": 0, "storage_offset": 0, "element_size": 0,
    "itemsize": 0, "nbytes": 0, "extent": 1,
}  # fmt: skip
# and the rest; what these give changes only where the object itself does
STATELESS = frozenset(NUMBERS) | _words(
    """
    sizes strides shape dims dimensions sym_sizes sym_strides at value data_ptr const_data_ptr mutable_data_ptr data
    is_contiguous is_cuda is_cpu is_floating_point is_same dtype scalar_type device device_type get_device options
    layout defined has_value element_type is_sparse requires_grad name type typed_data untyped_data itemsize
    contiguous clone detach to view reshape flatten transpose permute unsqueeze squeeze slice select narrow expand t
    expand_as view_as item unbind chunk split index_select sum max min abs cpu cuda half bfloat16 operator[]
"""
)
# tensors made of others that have the same extents, if not the same strides
SAME_SIZES = _words(
    """
    contiguous clone detach to cpu cuda half bfloat16 empty_like zeros_like ones_like full_like rand_like randn_like
"""
)
