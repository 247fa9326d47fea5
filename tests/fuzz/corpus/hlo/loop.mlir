module @jit_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<11x4xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<2x4x6xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<2x6x4xf32> {tf.aliasing_output = 2 : i32}, %arg3: tensor<11x4xf32> {tf.aliasing_output = 3 : i32}, %arg4: tensor<2x4x6xf32> {tf.aliasing_output = 4 : i32}, %arg5: tensor<2x6x4xf32> {tf.aliasing_output = 5 : i32}, %arg6: tensor<3x6xi32>) -> (tensor<11x4xf32> {jax.result_info = "result[0]['e']"}, tensor<2x4x6xf32> {jax.result_info = "result[0]['l']['a']"}, tensor<2x6x4xf32> {jax.result_info = "result[0]['l']['b']"}, tensor<11x4xf32> {jax.result_info = "result[1]['e']"}, tensor<2x4x6xf32> {jax.result_info = "result[1]['l']['a']"}, tensor<2x6x4xf32> {jax.result_info = "result[1]['l']['b']"}, tensor<f32> {jax.result_info = "result[2]"}) {
    %0 = stablehlo.slice %arg6 [0:3, 0:5] : (tensor<3x6xi32>) -> tensor<3x5xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<3x5xi32>
    %2 = stablehlo.compare LT, %0, %1, SIGNED : (tensor<3x5xi32>, tensor<3x5xi32>) -> tensor<3x5xi1>
    %c_0 = stablehlo.constant dense<11> : tensor<i32>
    %3 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<3x5xi32>
    %4 = stablehlo.add %0, %3 : tensor<3x5xi32>
    %5 = stablehlo.select %2, %4, %0 : tensor<3x5xi1>, tensor<3x5xi32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<3x5xi32>) -> tensor<3x5x1xi32>
    %7 = "stablehlo.gather"(%arg0, %6) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<11x4xf32>, tensor<3x5x1xi32>) -> tensor<3x5x4xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x5x4xf32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %9:5 = stablehlo.while(%iterArg = %arg1, %iterArg_16 = %arg2, %iterArg_17 = %c_1, %iterArg_18 = %7, %iterArg_19 = %8) : tensor<2x4x6xf32>, tensor<2x6x4xf32>, tensor<i32>, tensor<3x5x4xf32>, tensor<2x3x5x4xf32>
    cond {
      %c_20 = stablehlo.constant dense<2> : tensor<i32>
      %52 = stablehlo.compare LT, %iterArg_17, %c_20, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %52 : tensor<i1>
    } do {
      %52 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_17) : (tensor<2x4x6xf32>, tensor<i32>) -> tensor<4x6xf32>
      %53 = func.call @dynamic_index_in_dim_0(%iterArg_16, %iterArg_17) : (tensor<2x6x4xf32>, tensor<i32>) -> tensor<6x4xf32>
      %54:2 = func.call @closed_call(%iterArg_18, %52, %53) : (tensor<3x5x4xf32>, tensor<4x6xf32>, tensor<6x4xf32>) -> (tensor<3x5x4xf32>, tensor<3x5x4xf32>)
      %55 = func.call @dynamic_update_index_in_dim(%iterArg_19, %54#1, %iterArg_17) : (tensor<2x3x5x4xf32>, tensor<3x5x4xf32>, tensor<i32>) -> tensor<2x3x5x4xf32>
      %c_20 = stablehlo.constant dense<1> : tensor<i32>
      %56 = stablehlo.add %iterArg_17, %c_20 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_16, %56, %54#0, %55 : tensor<2x4x6xf32>, tensor<2x6x4xf32>, tensor<i32>, tensor<3x5x4xf32>, tensor<2x3x5x4xf32>
    }
    %10 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<11x4xf32>) -> tensor<4x11xf32>
    %11 = stablehlo.dot_general %9#3, %10, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<3x5x4xf32>, tensor<4x11xf32>) -> tensor<3x5x11xf32>
    %12:3 = call @log_softmax(%11) : (tensor<3x5x11xf32>) -> (tensor<3x5x11xf32>, tensor<3x5x11xf32>, tensor<3x5x1xf32>)
    %13 = stablehlo.slice %arg6 [0:3, 1:6] : (tensor<3x6xi32>) -> tensor<3x5xi32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1] : (tensor<3x5xi32>) -> tensor<3x5x1xi32>
    %15:2 = call @take_along_axis(%12#0, %14) : (tensor<3x5x11xf32>, tensor<3x5x1xi32>) -> (tensor<3x5x1xf32>, tensor<3x5x1x1xi32>)
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %16 = stablehlo.reduce(%15#0 init: %cst_2) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<3x5x1xf32>, tensor<f32>) -> tensor<f32>
    %cst_3 = stablehlo.constant dense<1.500000e+01> : tensor<f32>
    %17 = stablehlo.divide %16, %cst_3 : tensor<f32>
    %18 = stablehlo.negate %17 : tensor<f32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %19 = stablehlo.negate %cst_4 : tensor<f32>
    %cst_5 = stablehlo.constant dense<1.500000e+01> : tensor<f32>
    %20 = stablehlo.divide %19, %cst_5 : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [] : (tensor<f32>) -> tensor<3x5x1xf32>
    %22 = call @take_along_axis_1(%15#1, %21) : (tensor<3x5x1x1xi32>, tensor<3x5x1xf32>) -> tensor<3x5x11xf32>
    %23 = call @log_softmax_2(%12#1, %12#2, %22) : (tensor<3x5x11xf32>, tensor<3x5x1xf32>, tensor<3x5x11xf32>) -> tensor<3x5x11xf32>
    %24 = stablehlo.dot_general %23, %9#3, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<3x5x11xf32>, tensor<3x5x4xf32>) -> tensor<11x4xf32>
    %25 = stablehlo.transpose %24, dims = [1, 0] : (tensor<11x4xf32>) -> tensor<4x11xf32>
    %26 = stablehlo.dot_general %23, %10, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<3x5x11xf32>, tensor<4x11xf32>) -> tensor<3x5x4xf32>
    %27 = stablehlo.transpose %25, dims = [1, 0] : (tensor<4x11xf32>) -> tensor<11x4xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %28 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<2x4x6xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %29 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<2x6x4xf32>
    %c_8 = stablehlo.constant dense<0> : tensor<i32>
    %30:7 = stablehlo.while(%iterArg = %9#4, %iterArg_16 = %arg1, %iterArg_17 = %arg2, %iterArg_18 = %c_8, %iterArg_19 = %26, %iterArg_20 = %28, %iterArg_21 = %29) : tensor<2x3x5x4xf32>, tensor<2x4x6xf32>, tensor<2x6x4xf32>, tensor<i32>, tensor<3x5x4xf32>, tensor<2x4x6xf32>, tensor<2x6x4xf32>
    cond {
      %c_22 = stablehlo.constant dense<2> : tensor<i32>
      %52 = stablehlo.compare LT, %iterArg_18, %c_22, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %52 : tensor<i1>
    } do {
      %c_22 = stablehlo.constant dense<2> : tensor<i32>
      %52 = stablehlo.subtract %c_22, %iterArg_18 : tensor<i32>
      %c_23 = stablehlo.constant dense<1> : tensor<i32>
      %53 = stablehlo.subtract %52, %c_23 : tensor<i32>
      %54 = func.call @dynamic_index_in_dim_3(%iterArg, %53) : (tensor<2x3x5x4xf32>, tensor<i32>) -> tensor<3x5x4xf32>
      %55 = func.call @dynamic_index_in_dim(%iterArg_16, %53) : (tensor<2x4x6xf32>, tensor<i32>) -> tensor<4x6xf32>
      %56 = func.call @dynamic_index_in_dim_0(%iterArg_17, %53) : (tensor<2x6x4xf32>, tensor<i32>) -> tensor<6x4xf32>
      %57:3 = func.call @closed_call_4(%iterArg_19, %54, %55, %56) : (tensor<3x5x4xf32>, tensor<3x5x4xf32>, tensor<4x6xf32>, tensor<6x4xf32>) -> (tensor<3x5x4xf32>, tensor<4x6xf32>, tensor<6x4xf32>)
      %58 = func.call @dynamic_update_index_in_dim_7(%iterArg_20, %57#1, %53) : (tensor<2x4x6xf32>, tensor<4x6xf32>, tensor<i32>) -> tensor<2x4x6xf32>
      %59 = func.call @dynamic_update_index_in_dim_8(%iterArg_21, %57#2, %53) : (tensor<2x6x4xf32>, tensor<6x4xf32>, tensor<i32>) -> tensor<2x6x4xf32>
      %c_24 = stablehlo.constant dense<1> : tensor<i32>
      %60 = stablehlo.add %iterArg_18, %c_24 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_16, %iterArg_17, %60, %57#0, %58, %59 : tensor<2x3x5x4xf32>, tensor<2x4x6xf32>, tensor<2x6x4xf32>, tensor<i32>, tensor<3x5x4xf32>, tensor<2x4x6xf32>, tensor<2x6x4xf32>
    }
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %31 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<11x4xf32>
    %32 = "stablehlo.scatter"(%31, %6, %30#4) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %52 = stablehlo.add %arg7, %arg8 : tensor<f32>
      stablehlo.return %52 : tensor<f32>
    }) : (tensor<11x4xf32>, tensor<3x5x1xi32>, tensor<3x5x4xf32>) -> tensor<11x4xf32>
    %33 = stablehlo.add %27, %32 : tensor<11x4xf32>
    %cst_10 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %34 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<11x4xf32>
    %35 = stablehlo.multiply %34, %arg3 : tensor<11x4xf32>
    %36 = stablehlo.add %35, %33 : tensor<11x4xf32>
    %cst_11 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %37 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<2x4x6xf32>
    %38 = stablehlo.multiply %37, %arg4 : tensor<2x4x6xf32>
    %39 = stablehlo.add %38, %30#5 : tensor<2x4x6xf32>
    %cst_12 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %40 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<2x6x4xf32>
    %41 = stablehlo.multiply %40, %arg5 : tensor<2x6x4xf32>
    %42 = stablehlo.add %41, %30#6 : tensor<2x6x4xf32>
    %cst_13 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %43 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<11x4xf32>
    %44 = stablehlo.multiply %43, %36 : tensor<11x4xf32>
    %45 = stablehlo.subtract %arg0, %44 : tensor<11x4xf32>
    %cst_14 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %46 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<2x4x6xf32>
    %47 = stablehlo.multiply %46, %39 : tensor<2x4x6xf32>
    %48 = stablehlo.subtract %arg1, %47 : tensor<2x4x6xf32>
    %cst_15 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %49 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<2x6x4xf32>
    %50 = stablehlo.multiply %49, %42 : tensor<2x6x4xf32>
    %51 = stablehlo.subtract %arg2, %50 : tensor<2x6x4xf32>
    return %45, %48, %51, %36, %39, %42, %18 : tensor<11x4xf32>, tensor<2x4x6xf32>, tensor<2x6x4xf32>, tensor<11x4xf32>, tensor<2x4x6xf32>, tensor<2x6x4xf32>, tensor<f32>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<2x4x6xf32>, %arg1: tensor<i32>) -> tensor<4x6xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 4, 6] : (tensor<2x4x6xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x6xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x4x6xf32>) -> tensor<4x6xf32>
    return %1 : tensor<4x6xf32>
  }
  func.func private @dynamic_index_in_dim_0(%arg0: tensor<2x6x4xf32>, %arg1: tensor<i32>) -> tensor<6x4xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 6, 4] : (tensor<2x6x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x6x4xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x6x4xf32>) -> tensor<6x4xf32>
    return %1 : tensor<6x4xf32>
  }
  func.func private @closed_call(%arg0: tensor<3x5x4xf32>, %arg1: tensor<4x6xf32>, %arg2: tensor<6x4xf32>) -> (tensor<3x5x4xf32>, tensor<3x5x4xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<3x5x4xf32>, tensor<4x6xf32>) -> tensor<3x5x6xf32>
    %1 = call @silu(%0) : (tensor<3x5x6xf32>) -> tensor<3x5x6xf32>
    %2 = stablehlo.dot_general %1, %arg2, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<3x5x6xf32>, tensor<6x4xf32>) -> tensor<3x5x4xf32>
    %3 = stablehlo.multiply %2, %2 : tensor<3x5x4xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<3x5x4xf32>, tensor<f32>) -> tensor<3x5xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<3x5xf32>) -> tensor<3x5x1xf32>
    %cst_0 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<3x5x1xf32>
    %7 = stablehlo.divide %5, %6 : tensor<3x5x1xf32>
    %cst_1 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<3x5x1xf32>
    %9 = stablehlo.add %7, %8 : tensor<3x5x1xf32>
    %10 = stablehlo.rsqrt %9 : tensor<3x5x1xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2] : (tensor<3x5x1xf32>) -> tensor<3x5x4xf32>
    %12 = stablehlo.multiply %2, %11 : tensor<3x5x4xf32>
    %13 = stablehlo.add %arg0, %12 : tensor<3x5x4xf32>
    return %13, %arg0 : tensor<3x5x4xf32>, tensor<3x5x4xf32>
  }
  func.func private @silu(%arg0: tensor<3x5x6xf32>) -> tensor<3x5x6xf32> {
    %0 = stablehlo.negate %arg0 : tensor<3x5x6xf32>
    %1 = stablehlo.exponential %0 : tensor<3x5x6xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x5x6xf32>
    %3 = stablehlo.add %2, %1 : tensor<3x5x6xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<3x5x6xf32>
    %5 = stablehlo.divide %4, %3 : tensor<3x5x6xf32>
    %6 = stablehlo.multiply %arg0, %5 : tensor<3x5x6xf32>
    return %6 : tensor<3x5x6xf32>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<2x3x5x4xf32>, %arg1: tensor<3x5x4xf32>, %arg2: tensor<i32>) -> tensor<2x3x5x4xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2, 3] : (tensor<3x5x4xf32>) -> tensor<1x3x5x4xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c, %c_0, %c_1 : (tensor<2x3x5x4xf32>, tensor<1x3x5x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x3x5x4xf32>
    return %1 : tensor<2x3x5x4xf32>
  }
  func.func private @log_softmax(%arg0: tensor<3x5x11xf32>) -> (tensor<3x5x11xf32>, tensor<3x5x11xf32>, tensor<3x5x1xf32>) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [2] : (tensor<3x5x11xf32>, tensor<f32>) -> tensor<3x5xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<3x5xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<3x5xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<3x5xf32>) -> tensor<3x5x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<3x5x1xf32>) -> tensor<3x5x11xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<3x5x11xf32>
    %6 = stablehlo.exponential %5 : tensor<3x5x11xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [2] : (tensor<3x5x11xf32>, tensor<f32>) -> tensor<3x5xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<3x5xf32>) -> tensor<3x5x1xf32>
    %9 = stablehlo.log %8 : tensor<3x5x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<3x5x1xf32>) -> tensor<3x5x11xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<3x5x11xf32>
    return %11, %6, %8 : tensor<3x5x11xf32>, tensor<3x5x11xf32>, tensor<3x5x1xf32>
  }
  func.func private @take_along_axis(%arg0: tensor<3x5x11xf32>, %arg1: tensor<3x5x1xi32>) -> (tensor<3x5x1xf32>, tensor<3x5x1x1xi32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<3x5x1xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<3x5x1xi32>, tensor<3x5x1xi32>) -> tensor<3x5x1xi1>
    %c_0 = stablehlo.constant dense<11> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<3x5x1xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<3x5x1xi32>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<3x5x1xi1>, tensor<3x5x1xi32>
    %5 = stablehlo.reshape %4 : (tensor<3x5x1xi32>) -> tensor<3x5x1x1xi32>
    %c_1 = stablehlo.constant dense<10> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<3x5x1x1xi32>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<3x5x1x1xi32>, tensor<3x5x1x1xi32>) -> tensor<3x5x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %c_1, dims = [3] : (tensor<1xi32>) -> tensor<1x1x1x1xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2, 3] : (tensor<1x1x1x1xi32>) -> tensor<3x5x1x1xi32>
    %10 = stablehlo.compare LE, %5, %9, SIGNED : (tensor<3x5x1x1xi32>, tensor<3x5x1x1xi32>) -> tensor<3x5x1x1xi1>
    %11 = stablehlo.and %7, %10 : tensor<3x5x1x1xi1>
    %c_3 = stablehlo.constant dense<true> : tensor<i1>
    %12 = stablehlo.reduce(%11 init: %c_3) applies stablehlo.and across dimensions = [3] : (tensor<3x5x1x1xi1>, tensor<i1>) -> tensor<3x5x1xi1>
    %13 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 1], start_index_map = [2], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<3x5x11xf32>, tensor<3x5x1x1xi32>) -> tensor<3x5x1xf32>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x5x1xf32>
    %15 = stablehlo.select %12, %13, %14 : tensor<3x5x1xi1>, tensor<3x5x1xf32>
    return %15, %5 : tensor<3x5x1xf32>, tensor<3x5x1x1xi32>
  }
  func.func private @take_along_axis_1(%arg0: tensor<3x5x1x1xi32>, %arg1: tensor<3x5x1xf32>) -> tensor<3x5x11xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x5x11xf32>
    %1 = "stablehlo.scatter"(%0, %arg0, %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [2], input_batching_dims = [0, 1], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [2], index_vector_dim = 3>, unique_indices = false}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<3x5x11xf32>, tensor<3x5x1x1xi32>, tensor<3x5x1xf32>) -> tensor<3x5x11xf32>
    return %1 : tensor<3x5x11xf32>
  }
  func.func private @log_softmax_2(%arg0: tensor<3x5x11xf32>, %arg1: tensor<3x5x1xf32>, %arg2: tensor<3x5x11xf32>) -> tensor<3x5x11xf32> {
    %0 = stablehlo.negate %arg2 : tensor<3x5x11xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<3x5x11xf32>, tensor<f32>) -> tensor<3x5xf32>
    %2 = stablehlo.reshape %1 : (tensor<3x5xf32>) -> tensor<3x5x1xf32>
    %3 = stablehlo.divide %2, %arg1 : tensor<3x5x1xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.add across dimensions = [2] : (tensor<3x5x1xf32>, tensor<f32>) -> tensor<3x5xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<3x5xf32>) -> tensor<3x5x11xf32>
    %6 = stablehlo.multiply %5, %arg0 : tensor<3x5x11xf32>
    %7 = stablehlo.add %arg2, %6 : tensor<3x5x11xf32>
    return %7 : tensor<3x5x11xf32>
  }
  func.func private @dynamic_index_in_dim_3(%arg0: tensor<2x3x5x4xf32>, %arg1: tensor<i32>) -> tensor<3x5x4xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, %c_1, sizes = [1, 3, 5, 4] : (tensor<2x3x5x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x3x5x4xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x3x5x4xf32>) -> tensor<3x5x4xf32>
    return %1 : tensor<3x5x4xf32>
  }
  func.func private @closed_call_4(%arg0: tensor<3x5x4xf32>, %arg1: tensor<3x5x4xf32>, %arg2: tensor<4x6xf32>, %arg3: tensor<6x4xf32>) -> (tensor<3x5x4xf32>, tensor<4x6xf32>, tensor<6x4xf32>) {
    %0:4 = stablehlo.optimization_barrier %arg1, %arg2, %arg3, %arg0 : tensor<3x5x4xf32>, tensor<4x6xf32>, tensor<6x4xf32>, tensor<3x5x4xf32>
    %1 = stablehlo.dot_general %0#0, %0#1, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<3x5x4xf32>, tensor<4x6xf32>) -> tensor<3x5x6xf32>
    %2:3 = call @silu_5(%1) : (tensor<3x5x6xf32>) -> (tensor<3x5x6xf32>, tensor<3x5x6xf32>, tensor<3x5x6xf32>)
    %3 = stablehlo.dot_general %2#0, %0#2, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<3x5x6xf32>, tensor<6x4xf32>) -> tensor<3x5x4xf32>
    %4 = stablehlo.multiply %3, %3 : tensor<3x5x4xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %5 = stablehlo.reduce(%4 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<3x5x4xf32>, tensor<f32>) -> tensor<3x5xf32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<3x5xf32>) -> tensor<3x5x1xf32>
    %cst_0 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<3x5x1xf32>
    %8 = stablehlo.divide %6, %7 : tensor<3x5x1xf32>
    %cst_1 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<3x5x1xf32>
    %10 = stablehlo.add %8, %9 : tensor<3x5x1xf32>
    %11 = stablehlo.rsqrt %10 : tensor<3x5x1xf32>
    %12 = stablehlo.divide %11, %10 : tensor<3x5x1xf32>
    %cst_2 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<3x5x1xf32>
    %14 = stablehlo.multiply %13, %12 : tensor<3x5x1xf32>
    %15 = stablehlo.multiply %3, %0#3 : tensor<3x5x4xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %16 = stablehlo.reduce(%15 init: %cst_3) applies stablehlo.add across dimensions = [2] : (tensor<3x5x4xf32>, tensor<f32>) -> tensor<3x5xf32>
    %17 = stablehlo.reshape %16 : (tensor<3x5xf32>) -> tensor<3x5x1xf32>
    %18 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<3x5x1xf32>) -> tensor<3x5x4xf32>
    %19 = stablehlo.multiply %0#3, %18 : tensor<3x5x4xf32>
    %20 = stablehlo.multiply %17, %14 : tensor<3x5x1xf32>
    %cst_4 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<3x5x1xf32>
    %22 = stablehlo.divide %20, %21 : tensor<3x5x1xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %23 = stablehlo.reduce(%22 init: %cst_5) applies stablehlo.add across dimensions = [2] : (tensor<3x5x1xf32>, tensor<f32>) -> tensor<3x5xf32>
    %24 = stablehlo.broadcast_in_dim %23, dims = [0, 1] : (tensor<3x5xf32>) -> tensor<3x5x4xf32>
    %25 = stablehlo.multiply %3, %24 : tensor<3x5x4xf32>
    %26 = stablehlo.add %19, %25 : tensor<3x5x4xf32>
    %27 = stablehlo.multiply %24, %3 : tensor<3x5x4xf32>
    %28 = stablehlo.add %26, %27 : tensor<3x5x4xf32>
    %29 = stablehlo.dot_general %28, %2#0, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<3x5x4xf32>, tensor<3x5x6xf32>) -> tensor<4x6xf32>
    %30 = stablehlo.transpose %29, dims = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
    %31 = stablehlo.dot_general %28, %0#2, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<3x5x4xf32>, tensor<6x4xf32>) -> tensor<3x5x6xf32>
    %32 = call @silu_6(%2#1, %1, %2#2, %31) : (tensor<3x5x6xf32>, tensor<3x5x6xf32>, tensor<3x5x6xf32>, tensor<3x5x6xf32>) -> tensor<3x5x6xf32>
    %33 = stablehlo.dot_general %32, %0#0, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<3x5x6xf32>, tensor<3x5x4xf32>) -> tensor<6x4xf32>
    %34 = stablehlo.transpose %33, dims = [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
    %35 = stablehlo.dot_general %32, %0#1, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<3x5x6xf32>, tensor<4x6xf32>) -> tensor<3x5x4xf32>
    %36 = stablehlo.add %0#3, %35 : tensor<3x5x4xf32>
    return %36, %34, %30 : tensor<3x5x4xf32>, tensor<4x6xf32>, tensor<6x4xf32>
  }
  func.func private @silu_5(%arg0: tensor<3x5x6xf32>) -> (tensor<3x5x6xf32>, tensor<3x5x6xf32>, tensor<3x5x6xf32>) {
    %0 = stablehlo.negate %arg0 : tensor<3x5x6xf32>
    %1 = stablehlo.exponential %0 : tensor<3x5x6xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x5x6xf32>
    %3 = stablehlo.add %2, %1 : tensor<3x5x6xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<3x5x6xf32>
    %5 = stablehlo.divide %4, %3 : tensor<3x5x6xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<3x5x6xf32>
    %7 = stablehlo.subtract %6, %5 : tensor<3x5x6xf32>
    %8 = stablehlo.multiply %5, %7 : tensor<3x5x6xf32>
    %9 = stablehlo.multiply %arg0, %5 : tensor<3x5x6xf32>
    return %9, %5, %8 : tensor<3x5x6xf32>, tensor<3x5x6xf32>, tensor<3x5x6xf32>
  }
  func.func private @silu_6(%arg0: tensor<3x5x6xf32>, %arg1: tensor<3x5x6xf32>, %arg2: tensor<3x5x6xf32>, %arg3: tensor<3x5x6xf32>) -> tensor<3x5x6xf32> {
    %0 = stablehlo.multiply %arg1, %arg3 : tensor<3x5x6xf32>
    %1 = stablehlo.multiply %arg3, %arg0 : tensor<3x5x6xf32>
    %2 = stablehlo.multiply %0, %arg2 : tensor<3x5x6xf32>
    %3 = stablehlo.add %1, %2 : tensor<3x5x6xf32>
    return %3 : tensor<3x5x6xf32>
  }
  func.func private @dynamic_update_index_in_dim_7(%arg0: tensor<2x4x6xf32>, %arg1: tensor<4x6xf32>, %arg2: tensor<i32>) -> tensor<2x4x6xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2] : (tensor<4x6xf32>) -> tensor<1x4x6xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c, %c_0 : (tensor<2x4x6xf32>, tensor<1x4x6xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x4x6xf32>
    return %1 : tensor<2x4x6xf32>
  }
  func.func private @dynamic_update_index_in_dim_8(%arg0: tensor<2x6x4xf32>, %arg1: tensor<6x4xf32>, %arg2: tensor<i32>) -> tensor<2x6x4xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2] : (tensor<6x4xf32>) -> tensor<1x6x4xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c, %c_0 : (tensor<2x6x4xf32>, tensor<1x6x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x6x4xf32>
    return %1 : tensor<2x6x4xf32>
  }
}
