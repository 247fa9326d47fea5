module @jit_train_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x3x3x8xf32>, %arg1: tensor<3x3x8x16xf32>, %arg2: tensor<2x2x16x8xf32>, %arg3: tensor<2x2x8x3xf32>, %arg4: tensor<4x16x16x3xf32>) -> (tensor<3x3x3x8xf32> {jax.result_info = "result[0]['a']"}, tensor<3x3x8x16xf32> {jax.result_info = "result[0]['b']"}, tensor<2x2x16x8xf32> {jax.result_info = "result[0]['c']"}, tensor<2x2x8x3xf32> {jax.result_info = "result[0]['d']"}, tensor<f32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.convolution(%arg4, %arg0) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x16x16x3xf32>, tensor<3x3x3x8xf32>) -> tensor<4x16x16x8xf32>
    %1 = call @relu(%0) : (tensor<4x16x16x8xf32>) -> tensor<4x16x16x8xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x16x16x8xf32>
    %3 = stablehlo.compare GT, %0, %2, FLOAT : (tensor<4x16x16x8xf32>, tensor<4x16x16x8xf32>) -> tensor<4x16x16x8xi1>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<f32>
    %5 = "stablehlo.reduce_window"(%1, %4) <{base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<0> : tensor<4x2xi64>, window_dilations = array<i64: 1, 1, 1, 1>, window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %53 = stablehlo.maximum %arg5, %arg6 : tensor<f32>
      stablehlo.return %53 : tensor<f32>
    }) : (tensor<4x16x16x8xf32>, tensor<f32>) -> tensor<4x8x8x8xf32>
    %6 = stablehlo.convolution(%5, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x8x8x8xf32>, tensor<3x3x8x16xf32>) -> tensor<4x4x4x16xf32>
    %7:2 = call @leaky_relu(%6) : (tensor<4x4x4x16xf32>) -> (tensor<4x4x4x16xf32>, tensor<4x4x4x16xi1>)
    %8 = stablehlo.convolution(%7#0, %arg2) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [2, 2], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x4x4x16xf32>, tensor<2x2x16x8xf32>) -> tensor<4x8x8x8xf32>
    %9 = stablehlo.tanh %8 : tensor<4x8x8x8xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x8x8x8xf32>
    %11 = stablehlo.subtract %10, %9 : tensor<4x8x8x8xf32>
    %12 = stablehlo.convolution(%9, %arg3) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [2, 2], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x8x8x8xf32>, tensor<2x2x8x3xf32>) -> tensor<4x16x16x3xf32>
    %13 = stablehlo.subtract %12, %arg4 : tensor<4x16x16x3xf32>
    %14 = stablehlo.multiply %13, %13 : tensor<4x16x16x3xf32>
    %cst_2 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4x16x16x3xf32>
    %16 = stablehlo.multiply %15, %13 : tensor<4x16x16x3xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %17 = stablehlo.reduce(%14 init: %cst_3) applies stablehlo.add across dimensions = [0, 1, 2, 3] : (tensor<4x16x16x3xf32>, tensor<f32>) -> tensor<f32>
    %cst_4 = stablehlo.constant dense<3.072000e+03> : tensor<f32>
    %18 = stablehlo.divide %17, %cst_4 : tensor<f32>
    %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_6 = stablehlo.constant dense<3.072000e+03> : tensor<f32>
    %19 = stablehlo.divide %cst_5, %cst_6 : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [] : (tensor<f32>) -> tensor<4x16x16x3xf32>
    %21 = stablehlo.multiply %20, %16 : tensor<4x16x16x3xf32>
    %22 = stablehlo.convolution(%9, %21) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [2, 2], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x8x8x8xf32>, tensor<4x16x16x3xf32>) -> tensor<2x2x8x3xf32>
    %23 = stablehlo.reverse %arg3, dims = [0, 1] : tensor<2x2x8x3xf32>
    %24 = stablehlo.convolution(%21, %23) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x16x16x3xf32>, tensor<2x2x8x3xf32>) -> tensor<4x8x8x8xf32>
    %25 = stablehlo.multiply %24, %11 : tensor<4x8x8x8xf32>
    %26 = stablehlo.multiply %25, %9 : tensor<4x8x8x8xf32>
    %27 = stablehlo.add %25, %26 : tensor<4x8x8x8xf32>
    %28 = stablehlo.convolution(%7#0, %27) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [2, 2], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x4x4x16xf32>, tensor<4x8x8x8xf32>) -> tensor<2x2x16x8xf32>
    %29 = stablehlo.reverse %arg2, dims = [0, 1] : tensor<2x2x16x8xf32>
    %30 = stablehlo.convolution(%27, %29) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x8x8x8xf32>, tensor<2x2x16x8xf32>) -> tensor<4x4x4x16xf32>
    %31 = call @leaky_relu_0(%7#1, %30) : (tensor<4x4x4x16xi1>, tensor<4x4x4x16xf32>) -> tensor<4x4x4x16xf32>
    %32 = stablehlo.convolution(%5, %31) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[0, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [2, 2], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x8x8x8xf32>, tensor<4x4x4x16xf32>) -> tensor<3x3x8x16xf32>
    %33 = stablehlo.reverse %arg1, dims = [0, 1] : tensor<3x3x8x16xf32>
    %34 = stablehlo.convolution(%31, %33) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[2, 1], [2, 1]], lhs_dilate = [2, 2], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x4x4x16xf32>, tensor<3x3x8x16xf32>) -> tensor<4x8x8x8xf32>
    %cst_7 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %35 = stablehlo.pad %1, %cst_7, low = [0, 0, 0, 0], high = [0, 0, 0, 0], interior = [0, 0, 0, 0] : (tensor<4x16x16x8xf32>, tensor<f32>) -> tensor<4x16x16x8xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %36 = "stablehlo.select_and_scatter"(%35, %34, %cst_8) <{padding = dense<0> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %53 = stablehlo.compare GE, %arg5, %arg6, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %53 : tensor<i1>
    }, {
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %53 = stablehlo.add %arg5, %arg6 : tensor<f32>
      stablehlo.return %53 : tensor<f32>
    }) : (tensor<4x16x16x8xf32>, tensor<4x8x8x8xf32>, tensor<f32>) -> tensor<4x16x16x8xf32>
    %37 = stablehlo.slice %36 [0:4, 0:16, 0:16, 0:8] : (tensor<4x16x16x8xf32>) -> tensor<4x16x16x8xf32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %38 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<4x16x16x8xf32>
    %39 = stablehlo.select %3, %37, %38 : tensor<4x16x16x8xi1>, tensor<4x16x16x8xf32>
    %40 = stablehlo.convolution(%arg4, %39) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x16x16x3xf32>, tensor<4x16x16x8xf32>) -> tensor<3x3x3x8xf32>
    %cst_10 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %41 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<3x3x3x8xf32>
    %42 = stablehlo.multiply %41, %40 : tensor<3x3x3x8xf32>
    %43 = stablehlo.subtract %arg0, %42 : tensor<3x3x3x8xf32>
    %cst_11 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %44 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<3x3x8x16xf32>
    %45 = stablehlo.multiply %44, %32 : tensor<3x3x8x16xf32>
    %46 = stablehlo.subtract %arg1, %45 : tensor<3x3x8x16xf32>
    %cst_12 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %47 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<2x2x16x8xf32>
    %48 = stablehlo.multiply %47, %28 : tensor<2x2x16x8xf32>
    %49 = stablehlo.subtract %arg2, %48 : tensor<2x2x16x8xf32>
    %cst_13 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %50 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<2x2x8x3xf32>
    %51 = stablehlo.multiply %50, %22 : tensor<2x2x8x3xf32>
    %52 = stablehlo.subtract %arg3, %51 : tensor<2x2x8x3xf32>
    return %43, %46, %49, %52, %18 : tensor<3x3x3x8xf32>, tensor<3x3x8x16xf32>, tensor<2x2x16x8xf32>, tensor<2x2x8x3xf32>, tensor<f32>
  }
  func.func private @relu(%arg0: tensor<4x16x16x8xf32>) -> tensor<4x16x16x8xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x16x16x8xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<4x16x16x8xf32>
    return %1 : tensor<4x16x16x8xf32>
  }
  func.func private @leaky_relu(%arg0: tensor<4x4x4x16xf32>) -> (tensor<4x4x4x16xf32>, tensor<4x4x4x16xi1>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x4x4x16xf32>
    %1 = stablehlo.compare GE, %arg0, %0, FLOAT : (tensor<4x4x4x16xf32>, tensor<4x4x4x16xf32>) -> tensor<4x4x4x16xi1>
    %cst_0 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x4x4x16xf32>
    %3 = stablehlo.multiply %2, %arg0 : tensor<4x4x4x16xf32>
    %4 = call @_where(%1, %arg0, %3) : (tensor<4x4x4x16xi1>, tensor<4x4x4x16xf32>, tensor<4x4x4x16xf32>) -> tensor<4x4x4x16xf32>
    return %4, %1 : tensor<4x4x4x16xf32>, tensor<4x4x4x16xi1>
  }
  func.func private @_where(%arg0: tensor<4x4x4x16xi1>, %arg1: tensor<4x4x4x16xf32>, %arg2: tensor<4x4x4x16xf32>) -> tensor<4x4x4x16xf32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<4x4x4x16xi1>, tensor<4x4x4x16xf32>
    return %0 : tensor<4x4x4x16xf32>
  }
  func.func private @leaky_relu_0(%arg0: tensor<4x4x4x16xi1>, %arg1: tensor<4x4x4x16xf32>) -> tensor<4x4x4x16xf32> {
    %0:2 = call @_where_1(%arg0, %arg1) : (tensor<4x4x4x16xi1>, tensor<4x4x4x16xf32>) -> (tensor<4x4x4x16xf32>, tensor<4x4x4x16xf32>)
    %cst = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x4x4x16xf32>
    %2 = stablehlo.multiply %1, %0#1 : tensor<4x4x4x16xf32>
    %3 = stablehlo.add %0#0, %2 : tensor<4x4x4x16xf32>
    return %3 : tensor<4x4x4x16xf32>
  }
  func.func private @_where_1(%arg0: tensor<4x4x4x16xi1>, %arg1: tensor<4x4x4x16xf32>) -> (tensor<4x4x4x16xf32>, tensor<4x4x4x16xf32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x4x4x16xf32>
    %1 = stablehlo.select %arg0, %0, %arg1 : tensor<4x4x4x16xi1>, tensor<4x4x4x16xf32>
    %2 = stablehlo.select %arg0, %arg1, %0 : tensor<4x4x4x16xi1>, tensor<4x4x4x16xf32>
    return %2, %1 : tensor<4x4x4x16xf32>, tensor<4x4x4x16xf32>
  }
}
