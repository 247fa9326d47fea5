/* SPDX-License-Identifier: Apache-2.0 */
/* factors.h - numbers of the time model that belong to no device (data/factors.tsv). */
#ifndef CM_MODEL_FACTORS_H
#define CM_MODEL_FACTORS_H

typedef struct cm__factors {
    double transposed_product, fit_source_error, unsearched_conv_error;
    double reached_bandwidth, reached_peak, reached_peak_attention, kernel_latency_s; /* transfer.c */
    double norm_cycles, group_norm_cycles, group_norm_cycles_cached; /* norms.c */
    double group_cycles, group_cycles_backward, group_cycles_read; /* likewise */
    double volume_share, volume_share_gradient, volume_share_plain, volume_share_direct; /* volumes.c */
    double scan_cycles, inner_cycles, inner_cycles_unaligned, inner_cycles_fp32, inner_cycles_narrow; /* untabled.c */
    double inner_cycles_tf32, inner_cycles_tf32_rows;
    double head_cycles, head_cycles_dropout, head_cycles_backward, head_cycles_wide, head_cycles_backward_wide;
    double repeat_cycles, repeat_cycles_narrow, repeat_cycles_single, repeat_cycles_dense;
    double block_cycles, sort_cycles;
    double plane_cycles, plane_cycles_cached, plane_cycles_backward, plane_cycles_backward_cached, window_cycles;
    double softmax_block_cycles, softmax_block_cycles_backward, label_cycles, label_cycles_backward, scan_cycles_outer;
    double vector_cycles, vector_cycles_across, apart_norm_cycles;
    double small_product_cycles, small_product_cycles_low, row_cycles, row_cycles_variance;
    double adaptive_cycles, adaptive_cycles_cached, column_cycles, unfold_cycles, shuffle_cycles;
    double sample_channels, samples_most; /* places.c */
    double sample_cycles, sample_loop_cycles, sample_add_cycles, sample_add_cycles_low, sample_add_loop_cycles,
        sample_add_loop_cycles_low;
    double pool3d_cycles, pool3d_cycles_average, pool3d_cycles_maximum, pool3d_window_cycles, pool3d_window_cycles_add;
    double deform_cycles, deform_thread_cycles, deform_add_cycles, deform_place_cycles, deform_place_loop_cycles;
    double line_cycles, line_cycles_cached, line_add_cycles, index_cycles, index_cycles_sorted;
    double row_gather_cycles, row_add_cycles_low, index_read_cycles;
    double ctc_cycles, ctc_cycles_cached, ctc_beta_cycles, ctc_beta_cycles_cached;
    double ctc_labels_cycles, ctc_labels_cycles_cached;
    double filter_block_cycles, filter_block_places;
    double tap_cycles, tap_cycles_backward, tap_divide_cycles, image_norm_cycles, image_norm_cycles_backward; /* looped.c */
    double foreach_start_s, foreach_cycles, foreach_cycles_memory, foreach_cache, foreach_bend; /* foreach.c */
    double foreach_lerp, foreach_product, foreach_root, foreach_quotient, foreach_step, foreach_error; /* likewise */
    double cholesky_cycles, lu_cycles, substitute_cycles, distance_cycles, distance_cycles_backward;
    double spread_cycles, mixed_cycles, mixed_cycles_two, mixed_cycles_spread;
    /* time of attention kernels over the one that PyTorch chooses: attention_kernels.c */
    double tuned_volume; /* time of convolutions of volumes under the runtime tuned: timer.c */
    /* dispatch/scaled.c */
    double scaled_cast_bytes, joined_cast_bytes, largest_bytes, plain_cast_bytes, transposed_cast_bytes, apart_largest_bytes;
    double run_read, run_write, run_write_share; /* bytes per run of a copy with gaps: dispatch/walk.c */
    double access_bytes, cached_read, single_load, pool_read, pool_gradient, pool_gradient_nchw, atomic_add, atomic_add_lanes, atomic_add_share,
        atomic_add_nhwc, atomic_add_contended, atomic_add_equal; /* bytes: dispatch/traffic.c */
    double function_flop, random_number, contended_bf16, contended_bf16_each; /* likewise */
    double rows_of_block, undivided_sums, many_sums_columns; /* how Inductor divides sums: dispatch/compiled.c */
    double contended_adds;  /* additions to each number of a table, from which on they wait for each other */
    double flash1, flash1_wide, flash_forward, flash_backward, efficient_forward, efficient_backward;
    /* relative errors: of measured calls, of calls timed by another variant or type, of the roofline */
    double measured_error, stand_in_error, roofline_error;
    /* of another device's times, without and with corrections, if they differ by a factor of two; part of it at
       least */
    double transfer_error, corrected_error, slow_groups_error, least_transfer;
    double common_error, compiled_error, neighbours_shared, sparse_error; /* of a step: step.c */
    double busy_thread_host; /* host time beside a Python thread that never sleeps, over that alone (cm_train_options) */
    double fsdp_unit_host; /* host time of a module that FSDP gathers, per micro-batch */
    double expert_wait; /* of the device in a layer of experts, for a host that reads how many tokens each one gets */
    double expert_hidden; /* part of experts' exchanges between nodes that another micro-batch's computing hides */
    double recompute_host; /* host time of a recomputed operator over that of a forward operator, in eager PyTorch */
    /* the same of reentrant checkpoints: with all weights trained, and with frozen ones */
    double reentrant_host;
    /* host time of a fused kernel in a Python function of autograd over that of an operator, forward and backward */
    double fused_host, fused_backward_host;
    double inference_host; /* host time of a forward operator without autograd, over that with it */
    double compiled_host;  /* the same of an operator that the code of torch.compile calls */
    /* time of a core per image: torchvision in a DataLoader's worker, and in the training process, over libturbojpeg */
    /* dispatch/padding.c */
    double padded_odd, padded_even, padded_odd_rows, padded_even_rows, padded_thinnest, padded_transposed, padded_copied;
    double torchvision_worker, torchvision_alone, training_cores;
    double operator_launches; /* kernel launches that the host time of an operator contains */
    /* log errors of host times: of the measured host, eagerly and under torch.compile, and of another */
    double host_error, compiled_host_error, unmeasured_host_error;
    double probe_time, probe_power, probed_host_error; /* host.c */
    double memory_error, sharded_memory_error; /* log errors of the peak of memory: chance.c */
    double maker_correlation; /* of the errors of two devices of one maker and class: rank/order.c */
} cm__factors;

extern const cm__factors cm__time_factors;

#endif
