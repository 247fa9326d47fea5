/* SPDX-License-Identifier: Apache-2.0 */
/* factors.h - numbers of the time model that belong to no device (data/factors.tsv). */
#ifndef CM_MODEL_FACTORS_H
#define CM_MODEL_FACTORS_H

typedef struct cm__factors {
    double transposed_product, fit_source_error, unsearched_conv_error;
    double reached_bandwidth, reached_peak, reached_peak_attention, kernel_latency_s; /* transfer.c */
    double tiles_by_cores, sums_by_cores; /* the same */
    double agreed_ratio, ratio_reach, sparse_rows; /* of a profile's own tables beside others: timer.c */
    double above_sheet; /* roofline.c */
    /* time of attention kernels over the one that PyTorch chooses: attention_kernels.c */
    double tuned_volume; /* time of convolutions of volumes under the runtime tuned: timer.c */
    /* bytes of a copy that take as long as further work of generated kernels: generated.c */
    double access_bytes, pool_gradient, atomic_add, atomic_add_lanes, atomic_add_nhwc;
    double function_flop, random_number, contended_bf16, contended_bf16_each;
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
    double node_spread; /* standard deviation of the log times that nodes need for the same step */
    double expert_hidden; /* part of experts' exchanges between nodes that another micro-batch's computing hides */
    double recompute_host; /* host time of a recomputed operator over that of a forward operator, in eager PyTorch */
    /* the same of reentrant checkpoints: with all weights trained, and with frozen ones */
    double reentrant_host;
    /* host time of a fused kernel in a Python function of autograd over that of an operator, forward and backward */
    double fused_host, fused_backward_host;
    double inference_host; /* host time of a forward operator without autograd, over that with it */
    double compiled_host;  /* the same of an operator that the code of torch.compile calls */
    /* time of a core per image: torchvision in a DataLoader's worker, and in the training process, over libturbojpeg */
    double torchvision_worker, torchvision_alone, training_cores;
    double unpinned_bytes_s;  /* to the device from memory that is not pinned */
    double operator_launches; /* kernel launches that the host time of an operator contains */
    /* log errors of host times: of the measured host, eagerly and under torch.compile, and of another */
    double host_error, compiled_host_error, unmeasured_host_error;
    double probe_time, probe_power, probed_host_error; /* host.c */
    double memory_error, sharded_memory_error; /* log errors of the peak of memory: chance.c */
    double benchmark_start, benchmark_call; /* seconds that measuring a device takes: rank/advise.c */
    double maker_correlation; /* of the errors of two devices of one maker and class: rank/order.c */
} cm__factors;

extern const cm__factors cm__time_factors;

#endif
