module @jit_train_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<96x64xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<2x256x64xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<2x64xf32> {tf.aliasing_output = 2 : i32}, %arg3: tensor<2x64xf32> {tf.aliasing_output = 3 : i32}, %arg4: tensor<2x64x64xf32> {tf.aliasing_output = 4 : i32}, %arg5: tensor<2x64x192xf32> {tf.aliasing_output = 5 : i32}, %arg6: tensor<2x64x256xf32> {tf.aliasing_output = 6 : i32}, %arg7: tensor<96x64xf32> {tf.aliasing_output = 7 : i32}, %arg8: tensor<2x256x64xf32> {tf.aliasing_output = 8 : i32}, %arg9: tensor<2x64xf32> {tf.aliasing_output = 9 : i32}, %arg10: tensor<2x64xf32> {tf.aliasing_output = 10 : i32}, %arg11: tensor<2x64x64xf32> {tf.aliasing_output = 11 : i32}, %arg12: tensor<2x64x192xf32> {tf.aliasing_output = 12 : i32}, %arg13: tensor<2x64x256xf32> {tf.aliasing_output = 13 : i32}, %arg14: tensor<4x33xi32>) -> (tensor<96x64xf32> {jax.result_info = "result[0]['embedding']"}, tensor<2x256x64xf32> {jax.result_info = "result[0]['layers']['down']"}, tensor<2x64xf32> {jax.result_info = "result[0]['layers']['norm1']"}, tensor<2x64xf32> {jax.result_info = "result[0]['layers']['norm2']"}, tensor<2x64x64xf32> {jax.result_info = "result[0]['layers']['out']"}, tensor<2x64x192xf32> {jax.result_info = "result[0]['layers']['qkv']"}, tensor<2x64x256xf32> {jax.result_info = "result[0]['layers']['up']"}, tensor<96x64xf32> {jax.result_info = "result[1]['embedding']"}, tensor<2x256x64xf32> {jax.result_info = "result[1]['layers']['down']"}, tensor<2x64xf32> {jax.result_info = "result[1]['layers']['norm1']"}, tensor<2x64xf32> {jax.result_info = "result[1]['layers']['norm2']"}, tensor<2x64x64xf32> {jax.result_info = "result[1]['layers']['out']"}, tensor<2x64x192xf32> {jax.result_info = "result[1]['layers']['qkv']"}, tensor<2x64x256xf32> {jax.result_info = "result[1]['layers']['up']"}, tensor<f32> {jax.result_info = "result[2]"}) {
    %0 = stablehlo.slice %arg14 [0:4, 0:32] : (tensor<4x33xi32>) -> tensor<4x32xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4x32xi32>
    %2 = stablehlo.compare LT, %0, %1, SIGNED : (tensor<4x32xi32>, tensor<4x32xi32>) -> tensor<4x32xi1>
    %c_0 = stablehlo.constant dense<96> : tensor<i32>
    %3 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<4x32xi32>
    %4 = stablehlo.add %0, %3 : tensor<4x32xi32>
    %5 = stablehlo.select %2, %4, %0 : tensor<4x32xi1>, tensor<4x32xi32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<4x32xi32>) -> tensor<4x32x1xi32>
    %7 = "stablehlo.gather"(%arg0, %6) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 64>}> : (tensor<96x64xf32>, tensor<4x32x1xi32>) -> tensor<4x32x64xf32>
    %8 = stablehlo.convert %7 : (tensor<4x32x64xf32>) -> tensor<4x32x64xbf16>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %9:3 = call @_var(%c_1) : (tensor<i32>) -> (tensor<f32>, tensor<i1>, tensor<4x32x1xbf16>)
    %c_2 = stablehlo.constant dense<true> : tensor<i1>
    %10 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i1>) -> tensor<32x32xi1>
    %11 = call @tril(%10) : (tensor<32x32xi1>) -> tensor<32x32xi1>
    %cst = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %12:2 = call @_where_0(%11, %cst) : (tensor<32x32xi1>, tensor<f32>) -> (tensor<4x4x32x32xi1>, tensor<4x4x32x32xbf16>)
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %13:3 = call @_var(%c_3) : (tensor<i32>) -> (tensor<f32>, tensor<i1>, tensor<4x32x1xbf16>)
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %14 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<bf16>) -> tensor<2x4x32x64xbf16>
    %c_5 = stablehlo.constant dense<0> : tensor<i32>
    %15:17 = stablehlo.while(%iterArg = %arg1, %iterArg_32 = %arg2, %iterArg_33 = %arg3, %iterArg_34 = %arg4, %iterArg_35 = %arg5, %iterArg_36 = %arg6, %iterArg_37 = %9#0, %iterArg_38 = %9#1, %iterArg_39 = %9#2, %iterArg_40 = %12#0, %iterArg_41 = %12#1, %iterArg_42 = %13#0, %iterArg_43 = %13#1, %iterArg_44 = %13#2, %iterArg_45 = %c_5, %iterArg_46 = %8, %iterArg_47 = %14) : tensor<2x256x64xf32>, tensor<2x64xf32>, tensor<2x64xf32>, tensor<2x64x64xf32>, tensor<2x64x192xf32>, tensor<2x64x256xf32>, tensor<f32>, tensor<i1>, tensor<4x32x1xbf16>, tensor<4x4x32x32xi1>, tensor<4x4x32x32xbf16>, tensor<f32>, tensor<i1>, tensor<4x32x1xbf16>, tensor<i32>, tensor<4x32x64xbf16>, tensor<2x4x32x64xbf16>
    cond {
      %c_48 = stablehlo.constant dense<2> : tensor<i32>
      %91 = stablehlo.compare LT, %iterArg_45, %c_48, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %91 : tensor<i1>
    } do {
      %91 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_45) : (tensor<2x256x64xf32>, tensor<i32>) -> tensor<256x64xf32>
      %92 = func.call @dynamic_index_in_dim_1(%iterArg_32, %iterArg_45) : (tensor<2x64xf32>, tensor<i32>) -> tensor<64xf32>
      %93 = func.call @dynamic_index_in_dim_1(%iterArg_33, %iterArg_45) : (tensor<2x64xf32>, tensor<i32>) -> tensor<64xf32>
      %94 = func.call @dynamic_index_in_dim_2(%iterArg_34, %iterArg_45) : (tensor<2x64x64xf32>, tensor<i32>) -> tensor<64x64xf32>
      %95 = func.call @dynamic_index_in_dim_3(%iterArg_35, %iterArg_45) : (tensor<2x64x192xf32>, tensor<i32>) -> tensor<64x192xf32>
      %96 = func.call @dynamic_index_in_dim_4(%iterArg_36, %iterArg_45) : (tensor<2x64x256xf32>, tensor<i32>) -> tensor<64x256xf32>
      %97:2 = func.call @closed_call(%iterArg_37, %iterArg_38, %iterArg_39, %iterArg_40, %iterArg_41, %iterArg_42, %iterArg_43, %iterArg_44, %iterArg_46, %91, %92, %93, %94, %95, %96) : (tensor<f32>, tensor<i1>, tensor<4x32x1xbf16>, tensor<4x4x32x32xi1>, tensor<4x4x32x32xbf16>, tensor<f32>, tensor<i1>, tensor<4x32x1xbf16>, tensor<4x32x64xbf16>, tensor<256x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64x192xf32>, tensor<64x256xf32>) -> (tensor<4x32x64xbf16>, tensor<4x32x64xbf16>)
      %98 = func.call @dynamic_update_index_in_dim(%iterArg_47, %97#1, %iterArg_45) : (tensor<2x4x32x64xbf16>, tensor<4x32x64xbf16>, tensor<i32>) -> tensor<2x4x32x64xbf16>
      %c_48 = stablehlo.constant dense<1> : tensor<i32>
      %99 = stablehlo.add %iterArg_45, %c_48 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_32, %iterArg_33, %iterArg_34, %iterArg_35, %iterArg_36, %iterArg_37, %iterArg_38, %iterArg_39, %iterArg_40, %iterArg_41, %iterArg_42, %iterArg_43, %iterArg_44, %99, %97#0, %98 : tensor<2x256x64xf32>, tensor<2x64xf32>, tensor<2x64xf32>, tensor<2x64x64xf32>, tensor<2x64x192xf32>, tensor<2x64x256xf32>, tensor<f32>, tensor<i1>, tensor<4x32x1xbf16>, tensor<4x4x32x32xi1>, tensor<4x4x32x32xbf16>, tensor<f32>, tensor<i1>, tensor<4x32x1xbf16>, tensor<i32>, tensor<4x32x64xbf16>, tensor<2x4x32x64xbf16>
    }
    %16 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<96x64xf32>) -> tensor<64x96xf32>
    %17 = stablehlo.convert %16 : (tensor<64x96xf32>) -> tensor<64x96xbf16>
    %18 = stablehlo.dot_general %15#15, %17, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x32x64xbf16>, tensor<64x96xbf16>) -> tensor<4x32x96xbf16>
    %19 = stablehlo.convert %18 : (tensor<4x32x96xbf16>) -> tensor<4x32x96xf32>
    %20:3 = call @log_softmax(%19) : (tensor<4x32x96xf32>) -> (tensor<4x32x96xf32>, tensor<4x32x96xf32>, tensor<4x32x1xf32>)
    %21 = stablehlo.slice %arg14 [0:4, 1:33] : (tensor<4x33xi32>) -> tensor<4x32xi32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1] : (tensor<4x32xi32>) -> tensor<4x32x1xi32>
    %23:2 = call @take_along_axis(%20#0, %22) : (tensor<4x32x96xf32>, tensor<4x32x1xi32>) -> (tensor<4x32x1xf32>, tensor<4x32x1x1xi32>)
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %24 = stablehlo.reduce(%23#0 init: %cst_6) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<4x32x1xf32>, tensor<f32>) -> tensor<f32>
    %cst_7 = stablehlo.constant dense<1.280000e+02> : tensor<f32>
    %25 = stablehlo.divide %24, %cst_7 : tensor<f32>
    %26 = stablehlo.negate %25 : tensor<f32>
    %cst_8 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %27 = stablehlo.negate %cst_8 : tensor<f32>
    %cst_9 = stablehlo.constant dense<1.280000e+02> : tensor<f32>
    %28 = stablehlo.divide %27, %cst_9 : tensor<f32>
    %29 = stablehlo.broadcast_in_dim %28, dims = [] : (tensor<f32>) -> tensor<4x32x1xf32>
    %30 = call @take_along_axis_8(%23#1, %29) : (tensor<4x32x1x1xi32>, tensor<4x32x1xf32>) -> tensor<4x32x96xf32>
    %31 = call @log_softmax_9(%20#1, %20#2, %30) : (tensor<4x32x96xf32>, tensor<4x32x1xf32>, tensor<4x32x96xf32>) -> tensor<4x32x96xf32>
    %32 = stablehlo.convert %31 : (tensor<4x32x96xf32>) -> tensor<4x32x96xbf16>
    %33 = stablehlo.dot_general %32, %15#15, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x32x96xbf16>, tensor<4x32x64xbf16>) -> tensor<96x64xbf16>
    %34 = stablehlo.transpose %33, dims = [1, 0] : (tensor<96x64xbf16>) -> tensor<64x96xbf16>
    %35 = stablehlo.dot_general %32, %17, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x32x96xbf16>, tensor<64x96xbf16>) -> tensor<4x32x64xbf16>
    %36 = stablehlo.convert %34 : (tensor<64x96xbf16>) -> tensor<64x96xf32>
    %37 = stablehlo.transpose %36, dims = [1, 0] : (tensor<64x96xf32>) -> tensor<96x64xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %38 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<2x256x64xf32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %39 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<2x64xf32>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %40 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<2x64xf32>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %41 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<2x64x64xf32>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %42 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<2x64x192xf32>
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %43 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<2x64x256xf32>
    %c_16 = stablehlo.constant dense<0> : tensor<i32>
    %44:15 = stablehlo.while(%iterArg = %15#16, %iterArg_32 = %arg1, %iterArg_33 = %arg2, %iterArg_34 = %arg3, %iterArg_35 = %arg4, %iterArg_36 = %arg5, %iterArg_37 = %arg6, %iterArg_38 = %c_16, %iterArg_39 = %35, %iterArg_40 = %38, %iterArg_41 = %39, %iterArg_42 = %40, %iterArg_43 = %41, %iterArg_44 = %42, %iterArg_45 = %43) : tensor<2x4x32x64xbf16>, tensor<2x256x64xf32>, tensor<2x64xf32>, tensor<2x64xf32>, tensor<2x64x64xf32>, tensor<2x64x192xf32>, tensor<2x64x256xf32>, tensor<i32>, tensor<4x32x64xbf16>, tensor<2x256x64xf32>, tensor<2x64xf32>, tensor<2x64xf32>, tensor<2x64x64xf32>, tensor<2x64x192xf32>, tensor<2x64x256xf32>
    cond {
      %c_46 = stablehlo.constant dense<2> : tensor<i32>
      %91 = stablehlo.compare LT, %iterArg_38, %c_46, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %91 : tensor<i1>
    } do {
      %c_46 = stablehlo.constant dense<2> : tensor<i32>
      %91 = stablehlo.subtract %c_46, %iterArg_38 : tensor<i32>
      %c_47 = stablehlo.constant dense<1> : tensor<i32>
      %92 = stablehlo.subtract %91, %c_47 : tensor<i32>
      %93 = func.call @dynamic_index_in_dim_10(%iterArg, %92) : (tensor<2x4x32x64xbf16>, tensor<i32>) -> tensor<4x32x64xbf16>
      %94 = func.call @dynamic_index_in_dim(%iterArg_32, %92) : (tensor<2x256x64xf32>, tensor<i32>) -> tensor<256x64xf32>
      %95 = func.call @dynamic_index_in_dim_1(%iterArg_33, %92) : (tensor<2x64xf32>, tensor<i32>) -> tensor<64xf32>
      %96 = func.call @dynamic_index_in_dim_1(%iterArg_34, %92) : (tensor<2x64xf32>, tensor<i32>) -> tensor<64xf32>
      %97 = func.call @dynamic_index_in_dim_2(%iterArg_35, %92) : (tensor<2x64x64xf32>, tensor<i32>) -> tensor<64x64xf32>
      %98 = func.call @dynamic_index_in_dim_3(%iterArg_36, %92) : (tensor<2x64x192xf32>, tensor<i32>) -> tensor<64x192xf32>
      %99 = func.call @dynamic_index_in_dim_4(%iterArg_37, %92) : (tensor<2x64x256xf32>, tensor<i32>) -> tensor<64x256xf32>
      %100:7 = func.call @closed_call_11(%iterArg_39, %93, %94, %95, %96, %97, %98, %99) : (tensor<4x32x64xbf16>, tensor<4x32x64xbf16>, tensor<256x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64x192xf32>, tensor<64x256xf32>) -> (tensor<4x32x64xbf16>, tensor<256x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64x192xf32>, tensor<64x256xf32>)
      %101 = func.call @dynamic_update_index_in_dim_19(%iterArg_40, %100#1, %92) : (tensor<2x256x64xf32>, tensor<256x64xf32>, tensor<i32>) -> tensor<2x256x64xf32>
      %102 = func.call @dynamic_update_index_in_dim_20(%iterArg_41, %100#2, %92) : (tensor<2x64xf32>, tensor<64xf32>, tensor<i32>) -> tensor<2x64xf32>
      %103 = func.call @dynamic_update_index_in_dim_20(%iterArg_42, %100#3, %92) : (tensor<2x64xf32>, tensor<64xf32>, tensor<i32>) -> tensor<2x64xf32>
      %104 = func.call @dynamic_update_index_in_dim_21(%iterArg_43, %100#4, %92) : (tensor<2x64x64xf32>, tensor<64x64xf32>, tensor<i32>) -> tensor<2x64x64xf32>
      %105 = func.call @dynamic_update_index_in_dim_22(%iterArg_44, %100#5, %92) : (tensor<2x64x192xf32>, tensor<64x192xf32>, tensor<i32>) -> tensor<2x64x192xf32>
      %106 = func.call @dynamic_update_index_in_dim_23(%iterArg_45, %100#6, %92) : (tensor<2x64x256xf32>, tensor<64x256xf32>, tensor<i32>) -> tensor<2x64x256xf32>
      %c_48 = stablehlo.constant dense<1> : tensor<i32>
      %107 = stablehlo.add %iterArg_38, %c_48 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_32, %iterArg_33, %iterArg_34, %iterArg_35, %iterArg_36, %iterArg_37, %107, %100#0, %101, %102, %103, %104, %105, %106 : tensor<2x4x32x64xbf16>, tensor<2x256x64xf32>, tensor<2x64xf32>, tensor<2x64xf32>, tensor<2x64x64xf32>, tensor<2x64x192xf32>, tensor<2x64x256xf32>, tensor<i32>, tensor<4x32x64xbf16>, tensor<2x256x64xf32>, tensor<2x64xf32>, tensor<2x64xf32>, tensor<2x64x64xf32>, tensor<2x64x192xf32>, tensor<2x64x256xf32>
    }
    %45 = stablehlo.convert %44#8 : (tensor<4x32x64xbf16>) -> tensor<4x32x64xf32>
    %cst_17 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %46 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<96x64xf32>
    %47 = "stablehlo.scatter"(%46, %6, %45) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg15: tensor<f32>, %arg16: tensor<f32>):
      %91 = stablehlo.add %arg15, %arg16 : tensor<f32>
      stablehlo.return %91 : tensor<f32>
    }) : (tensor<96x64xf32>, tensor<4x32x1xi32>, tensor<4x32x64xf32>) -> tensor<96x64xf32>
    %48 = stablehlo.add %37, %47 : tensor<96x64xf32>
    %cst_18 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %49 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<96x64xf32>
    %50 = stablehlo.multiply %49, %arg7 : tensor<96x64xf32>
    %51 = stablehlo.add %50, %48 : tensor<96x64xf32>
    %cst_19 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %52 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<2x256x64xf32>
    %53 = stablehlo.multiply %52, %arg8 : tensor<2x256x64xf32>
    %54 = stablehlo.add %53, %44#9 : tensor<2x256x64xf32>
    %cst_20 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %55 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<2x64xf32>
    %56 = stablehlo.multiply %55, %arg9 : tensor<2x64xf32>
    %57 = stablehlo.add %56, %44#10 : tensor<2x64xf32>
    %cst_21 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %58 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<2x64xf32>
    %59 = stablehlo.multiply %58, %arg10 : tensor<2x64xf32>
    %60 = stablehlo.add %59, %44#11 : tensor<2x64xf32>
    %cst_22 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %61 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<2x64x64xf32>
    %62 = stablehlo.multiply %61, %arg11 : tensor<2x64x64xf32>
    %63 = stablehlo.add %62, %44#12 : tensor<2x64x64xf32>
    %cst_23 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %64 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<f32>) -> tensor<2x64x192xf32>
    %65 = stablehlo.multiply %64, %arg12 : tensor<2x64x192xf32>
    %66 = stablehlo.add %65, %44#13 : tensor<2x64x192xf32>
    %cst_24 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %67 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<2x64x256xf32>
    %68 = stablehlo.multiply %67, %arg13 : tensor<2x64x256xf32>
    %69 = stablehlo.add %68, %44#14 : tensor<2x64x256xf32>
    %cst_25 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %70 = stablehlo.broadcast_in_dim %cst_25, dims = [] : (tensor<f32>) -> tensor<96x64xf32>
    %71 = stablehlo.multiply %70, %51 : tensor<96x64xf32>
    %72 = stablehlo.subtract %arg0, %71 : tensor<96x64xf32>
    %cst_26 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %73 = stablehlo.broadcast_in_dim %cst_26, dims = [] : (tensor<f32>) -> tensor<2x256x64xf32>
    %74 = stablehlo.multiply %73, %54 : tensor<2x256x64xf32>
    %75 = stablehlo.subtract %arg1, %74 : tensor<2x256x64xf32>
    %cst_27 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %76 = stablehlo.broadcast_in_dim %cst_27, dims = [] : (tensor<f32>) -> tensor<2x64xf32>
    %77 = stablehlo.multiply %76, %57 : tensor<2x64xf32>
    %78 = stablehlo.subtract %arg2, %77 : tensor<2x64xf32>
    %cst_28 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %79 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<2x64xf32>
    %80 = stablehlo.multiply %79, %60 : tensor<2x64xf32>
    %81 = stablehlo.subtract %arg3, %80 : tensor<2x64xf32>
    %cst_29 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %82 = stablehlo.broadcast_in_dim %cst_29, dims = [] : (tensor<f32>) -> tensor<2x64x64xf32>
    %83 = stablehlo.multiply %82, %63 : tensor<2x64x64xf32>
    %84 = stablehlo.subtract %arg4, %83 : tensor<2x64x64xf32>
    %cst_30 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %85 = stablehlo.broadcast_in_dim %cst_30, dims = [] : (tensor<f32>) -> tensor<2x64x192xf32>
    %86 = stablehlo.multiply %85, %66 : tensor<2x64x192xf32>
    %87 = stablehlo.subtract %arg5, %86 : tensor<2x64x192xf32>
    %cst_31 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %88 = stablehlo.broadcast_in_dim %cst_31, dims = [] : (tensor<f32>) -> tensor<2x64x256xf32>
    %89 = stablehlo.multiply %88, %69 : tensor<2x64x256xf32>
    %90 = stablehlo.subtract %arg6, %89 : tensor<2x64x256xf32>
    return %72, %75, %78, %81, %84, %87, %90, %51, %54, %57, %60, %63, %66, %69, %26 : tensor<96x64xf32>, tensor<2x256x64xf32>, tensor<2x64xf32>, tensor<2x64xf32>, tensor<2x64x64xf32>, tensor<2x64x192xf32>, tensor<2x64x256xf32>, tensor<96x64xf32>, tensor<2x256x64xf32>, tensor<2x64xf32>, tensor<2x64xf32>, tensor<2x64x64xf32>, tensor<2x64x192xf32>, tensor<2x64x256xf32>, tensor<f32>
  }
  func.func private @_var(%arg0: tensor<i32>) -> (tensor<f32>, tensor<i1>, tensor<4x32x1xbf16>) {
    %0 = stablehlo.convert %arg0 : (tensor<i32>) -> tensor<f32>
    %cst = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %1 = stablehlo.subtract %cst, %0 : tensor<f32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.compare GT, %1, %cst_0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %cst_1 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %3 = call @_where(%cst_1) : (tensor<f32>) -> tensor<4x32x1xbf16>
    return %1, %2, %3 : tensor<f32>, tensor<i1>, tensor<4x32x1xbf16>
  }
  func.func private @_where(%arg0: tensor<f32>) -> tensor<4x32x1xbf16> {
    %0 = stablehlo.convert %arg0 : (tensor<f32>) -> tensor<bf16>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<bf16>) -> tensor<4x32x1xbf16>
    return %1 : tensor<4x32x1xbf16>
  }
  func.func private @tril(%arg0: tensor<32x32xi1>) -> tensor<32x32xi1> {
    %0 = stablehlo.iota dim = 0 : tensor<32x32xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<32x32xi32>
    %2 = stablehlo.add %0, %1 : tensor<32x32xi32>
    %3 = stablehlo.iota dim = 1 : tensor<32x32xi32>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<32x32xi32>, tensor<32x32xi32>) -> tensor<32x32xi1>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<32x32xi1>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<32x32xi1>, tensor<32x32xi1>
    return %6 : tensor<32x32xi1>
  }
  func.func private @_where_0(%arg0: tensor<32x32xi1>, %arg1: tensor<f32>) -> (tensor<4x4x32x32xi1>, tensor<4x4x32x32xbf16>) {
    %0 = stablehlo.convert %arg1 : (tensor<f32>) -> tensor<bf16>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<32x32xi1>) -> tensor<4x4x32x32xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<bf16>) -> tensor<4x4x32x32xbf16>
    return %1, %2 : tensor<4x4x32x32xi1>, tensor<4x4x32x32xbf16>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<2x256x64xf32>, %arg1: tensor<i32>) -> tensor<256x64xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 256, 64] : (tensor<2x256x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x256x64xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x256x64xf32>) -> tensor<256x64xf32>
    return %1 : tensor<256x64xf32>
  }
  func.func private @dynamic_index_in_dim_1(%arg0: tensor<2x64xf32>, %arg1: tensor<i32>) -> tensor<64xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, sizes = [1, 64] : (tensor<2x64xf32>, tensor<i32>, tensor<i32>) -> tensor<1x64xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x64xf32>) -> tensor<64xf32>
    return %1 : tensor<64xf32>
  }
  func.func private @dynamic_index_in_dim_2(%arg0: tensor<2x64x64xf32>, %arg1: tensor<i32>) -> tensor<64x64xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 64, 64] : (tensor<2x64x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x64x64xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x64x64xf32>) -> tensor<64x64xf32>
    return %1 : tensor<64x64xf32>
  }
  func.func private @dynamic_index_in_dim_3(%arg0: tensor<2x64x192xf32>, %arg1: tensor<i32>) -> tensor<64x192xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 64, 192] : (tensor<2x64x192xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x64x192xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x64x192xf32>) -> tensor<64x192xf32>
    return %1 : tensor<64x192xf32>
  }
  func.func private @dynamic_index_in_dim_4(%arg0: tensor<2x64x256xf32>, %arg1: tensor<i32>) -> tensor<64x256xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 64, 256] : (tensor<2x64x256xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x64x256xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x64x256xf32>) -> tensor<64x256xf32>
    return %1 : tensor<64x256xf32>
  }
  func.func private @closed_call(%arg0: tensor<f32>, %arg1: tensor<i1>, %arg2: tensor<4x32x1xbf16>, %arg3: tensor<4x4x32x32xi1>, %arg4: tensor<4x4x32x32xbf16>, %arg5: tensor<f32>, %arg6: tensor<i1>, %arg7: tensor<4x32x1xbf16>, %arg8: tensor<4x32x64xbf16>, %arg9: tensor<256x64xf32>, %arg10: tensor<64xf32>, %arg11: tensor<64xf32>, %arg12: tensor<64x64xf32>, %arg13: tensor<64x192xf32>, %arg14: tensor<64x256xf32>) -> (tensor<4x32x64xbf16>, tensor<4x32x64xbf16>) {
    %0 = stablehlo.convert %arg9 : (tensor<256x64xf32>) -> tensor<256x64xbf16>
    %1 = stablehlo.convert %arg10 : (tensor<64xf32>) -> tensor<64xbf16>
    %2 = stablehlo.convert %arg11 : (tensor<64xf32>) -> tensor<64xbf16>
    %3 = stablehlo.convert %arg12 : (tensor<64x64xf32>) -> tensor<64x64xbf16>
    %4 = stablehlo.convert %arg13 : (tensor<64x192xf32>) -> tensor<64x192xbf16>
    %5 = stablehlo.convert %arg14 : (tensor<64x256xf32>) -> tensor<64x256xbf16>
    %6 = stablehlo.convert %arg8 : (tensor<4x32x64xbf16>) -> tensor<4x32x64xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x32x64xf32>, tensor<f32>) -> tensor<4x32xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<4x32xf32>) -> tensor<4x32x1xf32>
    %cst_0 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x32x1xf32>
    %10 = stablehlo.divide %8, %9 : tensor<4x32x1xf32>
    %11 = stablehlo.convert %10 : (tensor<4x32x1xf32>) -> tensor<4x32x1xbf16>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<4x32x1xbf16>) -> tensor<4x32x64xbf16>
    %13 = stablehlo.subtract %arg8, %12 : tensor<4x32x64xbf16>
    %14 = call @_var_5(%arg8, %arg0, %arg1, %arg2) : (tensor<4x32x64xbf16>, tensor<f32>, tensor<i1>, tensor<4x32x1xbf16>) -> tensor<4x32x1xbf16>
    %cst_1 = stablehlo.constant dense<1.001360e-05> : tensor<bf16>
    %15 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<bf16>) -> tensor<4x32x1xbf16>
    %16 = stablehlo.add %14, %15 : tensor<4x32x1xbf16>
    %17 = stablehlo.rsqrt %16 : tensor<4x32x1xbf16>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2] : (tensor<4x32x1xbf16>) -> tensor<4x32x64xbf16>
    %19 = stablehlo.multiply %13, %18 : tensor<4x32x64xbf16>
    %20 = stablehlo.broadcast_in_dim %1, dims = [2] : (tensor<64xbf16>) -> tensor<1x1x64xbf16>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2] : (tensor<1x1x64xbf16>) -> tensor<4x32x64xbf16>
    %22 = stablehlo.multiply %19, %21 : tensor<4x32x64xbf16>
    %23 = stablehlo.dot_general %22, %4, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x32x64xbf16>, tensor<64x192xbf16>) -> tensor<4x32x192xbf16>
    %24 = stablehlo.slice %23 [0:4, 0:32, 0:64] : (tensor<4x32x192xbf16>) -> tensor<4x32x64xbf16>
    %25 = stablehlo.slice %23 [0:4, 0:32, 64:128] : (tensor<4x32x192xbf16>) -> tensor<4x32x64xbf16>
    %26 = stablehlo.slice %23 [0:4, 0:32, 128:192] : (tensor<4x32x192xbf16>) -> tensor<4x32x64xbf16>
    %27 = stablehlo.reshape %24 : (tensor<4x32x64xbf16>) -> tensor<4x32x4x16xbf16>
    %28 = stablehlo.reshape %25 : (tensor<4x32x64xbf16>) -> tensor<4x32x4x16xbf16>
    %29 = stablehlo.reshape %26 : (tensor<4x32x64xbf16>) -> tensor<4x32x4x16xbf16>
    %30 = stablehlo.dot_general %27, %28, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x32x4x16xbf16>, tensor<4x32x4x16xbf16>) -> tensor<4x4x32x32xbf16>
    %cst_2 = stablehlo.constant dense<2.500000e-01> : tensor<bf16>
    %31 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<bf16>) -> tensor<4x4x32x32xbf16>
    %32 = stablehlo.multiply %30, %31 : tensor<4x4x32x32xbf16>
    %33 = call @_where_7(%32, %arg3, %arg4) : (tensor<4x4x32x32xbf16>, tensor<4x4x32x32xi1>, tensor<4x4x32x32xbf16>) -> tensor<4x4x32x32xbf16>
    %cst_3 = stablehlo.constant dense<0xFF80> : tensor<bf16>
    %34 = stablehlo.reduce(%33 init: %cst_3) applies stablehlo.maximum across dimensions = [3] : (tensor<4x4x32x32xbf16>, tensor<bf16>) -> tensor<4x4x32xbf16>
    %cst_4 = stablehlo.constant dense<0xFF80> : tensor<bf16>
    %35 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<bf16>) -> tensor<4x4x32xbf16>
    %36 = stablehlo.maximum %35, %34 : tensor<4x4x32xbf16>
    %37 = stablehlo.broadcast_in_dim %36, dims = [0, 1, 2] : (tensor<4x4x32xbf16>) -> tensor<4x4x32x1xbf16>
    %38 = stablehlo.broadcast_in_dim %37, dims = [0, 1, 2, 3] : (tensor<4x4x32x1xbf16>) -> tensor<4x4x32x32xbf16>
    %39 = stablehlo.subtract %33, %38 : tensor<4x4x32x32xbf16>
    %40 = stablehlo.exponential %39 : tensor<4x4x32x32xbf16>
    %41 = stablehlo.convert %40 : (tensor<4x4x32x32xbf16>) -> tensor<4x4x32x32xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %42 = stablehlo.reduce(%41 init: %cst_5) applies stablehlo.add across dimensions = [3] : (tensor<4x4x32x32xf32>, tensor<f32>) -> tensor<4x4x32xf32>
    %43 = stablehlo.broadcast_in_dim %42, dims = [0, 1, 2] : (tensor<4x4x32xf32>) -> tensor<4x4x32x1xf32>
    %44 = stablehlo.convert %43 : (tensor<4x4x32x1xf32>) -> tensor<4x4x32x1xbf16>
    %45 = stablehlo.broadcast_in_dim %44, dims = [0, 1, 2, 3] : (tensor<4x4x32x1xbf16>) -> tensor<4x4x32x32xbf16>
    %46 = stablehlo.divide %40, %45 : tensor<4x4x32x32xbf16>
    %47 = stablehlo.dot_general %29, %46, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x32x4x16xbf16>, tensor<4x4x32x32xbf16>) -> tensor<4x4x16x32xbf16>
    %48 = stablehlo.transpose %47, dims = [0, 3, 1, 2] : (tensor<4x4x16x32xbf16>) -> tensor<4x32x4x16xbf16>
    %49 = stablehlo.reshape %48 : (tensor<4x32x4x16xbf16>) -> tensor<4x32x64xbf16>
    %50 = stablehlo.dot_general %49, %3, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x32x64xbf16>, tensor<64x64xbf16>) -> tensor<4x32x64xbf16>
    %51 = stablehlo.add %arg8, %50 : tensor<4x32x64xbf16>
    %52 = stablehlo.convert %51 : (tensor<4x32x64xbf16>) -> tensor<4x32x64xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %53 = stablehlo.reduce(%52 init: %cst_6) applies stablehlo.add across dimensions = [2] : (tensor<4x32x64xf32>, tensor<f32>) -> tensor<4x32xf32>
    %54 = stablehlo.broadcast_in_dim %53, dims = [0, 1] : (tensor<4x32xf32>) -> tensor<4x32x1xf32>
    %cst_7 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %55 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<4x32x1xf32>
    %56 = stablehlo.divide %54, %55 : tensor<4x32x1xf32>
    %57 = stablehlo.convert %56 : (tensor<4x32x1xf32>) -> tensor<4x32x1xbf16>
    %58 = stablehlo.broadcast_in_dim %57, dims = [0, 1, 2] : (tensor<4x32x1xbf16>) -> tensor<4x32x64xbf16>
    %59 = stablehlo.subtract %51, %58 : tensor<4x32x64xbf16>
    %60 = call @_var_5(%51, %arg5, %arg6, %arg7) : (tensor<4x32x64xbf16>, tensor<f32>, tensor<i1>, tensor<4x32x1xbf16>) -> tensor<4x32x1xbf16>
    %cst_8 = stablehlo.constant dense<1.001360e-05> : tensor<bf16>
    %61 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<bf16>) -> tensor<4x32x1xbf16>
    %62 = stablehlo.add %60, %61 : tensor<4x32x1xbf16>
    %63 = stablehlo.rsqrt %62 : tensor<4x32x1xbf16>
    %64 = stablehlo.broadcast_in_dim %63, dims = [0, 1, 2] : (tensor<4x32x1xbf16>) -> tensor<4x32x64xbf16>
    %65 = stablehlo.multiply %59, %64 : tensor<4x32x64xbf16>
    %66 = stablehlo.broadcast_in_dim %2, dims = [2] : (tensor<64xbf16>) -> tensor<1x1x64xbf16>
    %67 = stablehlo.broadcast_in_dim %66, dims = [0, 1, 2] : (tensor<1x1x64xbf16>) -> tensor<4x32x64xbf16>
    %68 = stablehlo.multiply %65, %67 : tensor<4x32x64xbf16>
    %69 = stablehlo.dot_general %68, %5, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x32x64xbf16>, tensor<64x256xbf16>) -> tensor<4x32x256xbf16>
    %70 = stablehlo.multiply %69, %69 : tensor<4x32x256xbf16>
    %71 = stablehlo.multiply %70, %69 : tensor<4x32x256xbf16>
    %cst_9 = stablehlo.constant dense<4.467770e-02> : tensor<bf16>
    %72 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<bf16>) -> tensor<4x32x256xbf16>
    %73 = stablehlo.multiply %72, %71 : tensor<4x32x256xbf16>
    %74 = stablehlo.add %69, %73 : tensor<4x32x256xbf16>
    %cst_10 = stablehlo.constant dense<7.968750e-01> : tensor<bf16>
    %75 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<bf16>) -> tensor<4x32x256xbf16>
    %76 = stablehlo.multiply %75, %74 : tensor<4x32x256xbf16>
    %77 = stablehlo.tanh %76 : tensor<4x32x256xbf16>
    %cst_11 = stablehlo.constant dense<1.000000e+00> : tensor<bf16>
    %78 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<bf16>) -> tensor<4x32x256xbf16>
    %79 = stablehlo.add %78, %77 : tensor<4x32x256xbf16>
    %cst_12 = stablehlo.constant dense<5.000000e-01> : tensor<bf16>
    %80 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<bf16>) -> tensor<4x32x256xbf16>
    %81 = stablehlo.multiply %80, %79 : tensor<4x32x256xbf16>
    %82 = stablehlo.multiply %69, %81 : tensor<4x32x256xbf16>
    %83 = stablehlo.dot_general %82, %0, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x32x256xbf16>, tensor<256x64xbf16>) -> tensor<4x32x64xbf16>
    %84 = stablehlo.add %51, %83 : tensor<4x32x64xbf16>
    return %84, %arg8 : tensor<4x32x64xbf16>, tensor<4x32x64xbf16>
  }
  func.func private @_var_5(%arg0: tensor<4x32x64xbf16>, %arg1: tensor<f32>, %arg2: tensor<i1>, %arg3: tensor<4x32x1xbf16>) -> tensor<4x32x1xbf16> {
    %0 = stablehlo.convert %arg0 : (tensor<4x32x64xbf16>) -> tensor<4x32x64xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x32x64xf32>, tensor<f32>) -> tensor<4x32xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<4x32xf32>) -> tensor<4x32x1xf32>
    %cst_0 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x32x1xf32>
    %4 = stablehlo.divide %2, %3 : tensor<4x32x1xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2] : (tensor<4x32x1xf32>) -> tensor<4x32x64xf32>
    %6 = stablehlo.subtract %0, %5 : tensor<4x32x64xf32>
    %7 = chlo.square %6 : tensor<4x32x64xf32> -> tensor<4x32x64xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.reduce(%7 init: %cst_1) applies stablehlo.add across dimensions = [2] : (tensor<4x32x64xf32>, tensor<f32>) -> tensor<4x32xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<4x32xf32>) -> tensor<4x32x1xf32>
    %10 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<4x32x1xf32>
    %11 = stablehlo.divide %9, %10 : tensor<4x32x1xf32>
    %12 = stablehlo.convert %11 : (tensor<4x32x1xf32>) -> tensor<4x32x1xbf16>
    %13 = call @_where_6(%12, %arg2, %arg3) : (tensor<4x32x1xbf16>, tensor<i1>, tensor<4x32x1xbf16>) -> tensor<4x32x1xbf16>
    return %13 : tensor<4x32x1xbf16>
  }
  func.func private @_where_6(%arg0: tensor<4x32x1xbf16>, %arg1: tensor<i1>, %arg2: tensor<4x32x1xbf16>) -> tensor<4x32x1xbf16> {
    %0 = stablehlo.select %arg1, %arg0, %arg2 : tensor<i1>, tensor<4x32x1xbf16>
    return %0 : tensor<4x32x1xbf16>
  }
  func.func private @_where_7(%arg0: tensor<4x4x32x32xbf16>, %arg1: tensor<4x4x32x32xi1>, %arg2: tensor<4x4x32x32xbf16>) -> tensor<4x4x32x32xbf16> {
    %0 = stablehlo.select %arg1, %arg0, %arg2 : tensor<4x4x32x32xi1>, tensor<4x4x32x32xbf16>
    return %0 : tensor<4x4x32x32xbf16>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<2x4x32x64xbf16>, %arg1: tensor<4x32x64xbf16>, %arg2: tensor<i32>) -> tensor<2x4x32x64xbf16> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2, 3] : (tensor<4x32x64xbf16>) -> tensor<1x4x32x64xbf16>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c, %c_0, %c_1 : (tensor<2x4x32x64xbf16>, tensor<1x4x32x64xbf16>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x4x32x64xbf16>
    return %1 : tensor<2x4x32x64xbf16>
  }
  func.func private @log_softmax(%arg0: tensor<4x32x96xf32>) -> (tensor<4x32x96xf32>, tensor<4x32x96xf32>, tensor<4x32x1xf32>) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [2] : (tensor<4x32x96xf32>, tensor<f32>) -> tensor<4x32xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x32xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<4x32xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<4x32xf32>) -> tensor<4x32x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<4x32x1xf32>) -> tensor<4x32x96xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<4x32x96xf32>
    %6 = stablehlo.exponential %5 : tensor<4x32x96xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [2] : (tensor<4x32x96xf32>, tensor<f32>) -> tensor<4x32xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<4x32xf32>) -> tensor<4x32x1xf32>
    %9 = stablehlo.log %8 : tensor<4x32x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<4x32x1xf32>) -> tensor<4x32x96xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<4x32x96xf32>
    return %11, %6, %8 : tensor<4x32x96xf32>, tensor<4x32x96xf32>, tensor<4x32x1xf32>
  }
  func.func private @take_along_axis(%arg0: tensor<4x32x96xf32>, %arg1: tensor<4x32x1xi32>) -> (tensor<4x32x1xf32>, tensor<4x32x1x1xi32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4x32x1xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<4x32x1xi32>, tensor<4x32x1xi32>) -> tensor<4x32x1xi1>
    %c_0 = stablehlo.constant dense<96> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<4x32x1xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<4x32x1xi32>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<4x32x1xi1>, tensor<4x32x1xi32>
    %5 = stablehlo.reshape %4 : (tensor<4x32x1xi32>) -> tensor<4x32x1x1xi32>
    %c_1 = stablehlo.constant dense<95> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<4x32x1x1xi32>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<4x32x1x1xi32>, tensor<4x32x1x1xi32>) -> tensor<4x32x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %c_1, dims = [3] : (tensor<1xi32>) -> tensor<1x1x1x1xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2, 3] : (tensor<1x1x1x1xi32>) -> tensor<4x32x1x1xi32>
    %10 = stablehlo.compare LE, %5, %9, SIGNED : (tensor<4x32x1x1xi32>, tensor<4x32x1x1xi32>) -> tensor<4x32x1x1xi1>
    %11 = stablehlo.and %7, %10 : tensor<4x32x1x1xi1>
    %c_3 = stablehlo.constant dense<true> : tensor<i1>
    %12 = stablehlo.reduce(%11 init: %c_3) applies stablehlo.and across dimensions = [3] : (tensor<4x32x1x1xi1>, tensor<i1>) -> tensor<4x32x1xi1>
    %13 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 1], start_index_map = [2], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<4x32x96xf32>, tensor<4x32x1x1xi32>) -> tensor<4x32x1xf32>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x32x1xf32>
    %15 = stablehlo.select %12, %13, %14 : tensor<4x32x1xi1>, tensor<4x32x1xf32>
    return %15, %5 : tensor<4x32x1xf32>, tensor<4x32x1x1xi32>
  }
  func.func private @take_along_axis_8(%arg0: tensor<4x32x1x1xi32>, %arg1: tensor<4x32x1xf32>) -> tensor<4x32x96xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x32x96xf32>
    %1 = "stablehlo.scatter"(%0, %arg0, %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [2], input_batching_dims = [0, 1], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [2], index_vector_dim = 3>, unique_indices = false}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<4x32x96xf32>, tensor<4x32x1x1xi32>, tensor<4x32x1xf32>) -> tensor<4x32x96xf32>
    return %1 : tensor<4x32x96xf32>
  }
  func.func private @log_softmax_9(%arg0: tensor<4x32x96xf32>, %arg1: tensor<4x32x1xf32>, %arg2: tensor<4x32x96xf32>) -> tensor<4x32x96xf32> {
    %0 = stablehlo.negate %arg2 : tensor<4x32x96xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x32x96xf32>, tensor<f32>) -> tensor<4x32xf32>
    %2 = stablehlo.reshape %1 : (tensor<4x32xf32>) -> tensor<4x32x1xf32>
    %3 = stablehlo.divide %2, %arg1 : tensor<4x32x1xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.add across dimensions = [2] : (tensor<4x32x1xf32>, tensor<f32>) -> tensor<4x32xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<4x32xf32>) -> tensor<4x32x96xf32>
    %6 = stablehlo.multiply %5, %arg0 : tensor<4x32x96xf32>
    %7 = stablehlo.add %arg2, %6 : tensor<4x32x96xf32>
    return %7 : tensor<4x32x96xf32>
  }
  func.func private @dynamic_index_in_dim_10(%arg0: tensor<2x4x32x64xbf16>, %arg1: tensor<i32>) -> tensor<4x32x64xbf16> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, %c_1, sizes = [1, 4, 32, 64] : (tensor<2x4x32x64xbf16>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x32x64xbf16>
    %1 = stablehlo.reshape %0 : (tensor<1x4x32x64xbf16>) -> tensor<4x32x64xbf16>
    return %1 : tensor<4x32x64xbf16>
  }
  func.func private @closed_call_11(%arg0: tensor<4x32x64xbf16>, %arg1: tensor<4x32x64xbf16>, %arg2: tensor<256x64xf32>, %arg3: tensor<64xf32>, %arg4: tensor<64xf32>, %arg5: tensor<64x64xf32>, %arg6: tensor<64x192xf32>, %arg7: tensor<64x256xf32>) -> (tensor<4x32x64xbf16>, tensor<256x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64x192xf32>, tensor<64x256xf32>) {
    %0:8 = stablehlo.optimization_barrier %arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7, %arg0 : tensor<4x32x64xbf16>, tensor<256x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64x192xf32>, tensor<64x256xf32>, tensor<4x32x64xbf16>
    %1 = stablehlo.convert %0#1 : (tensor<256x64xf32>) -> tensor<256x64xbf16>
    %2 = stablehlo.convert %0#2 : (tensor<64xf32>) -> tensor<64xbf16>
    %3 = stablehlo.convert %0#3 : (tensor<64xf32>) -> tensor<64xbf16>
    %4 = stablehlo.convert %0#4 : (tensor<64x64xf32>) -> tensor<64x64xbf16>
    %5 = stablehlo.convert %0#5 : (tensor<64x192xf32>) -> tensor<64x192xbf16>
    %6 = stablehlo.convert %0#6 : (tensor<64x256xf32>) -> tensor<64x256xbf16>
    %7 = stablehlo.convert %0#0 : (tensor<4x32x64xbf16>) -> tensor<4x32x64xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.reduce(%7 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x32x64xf32>, tensor<f32>) -> tensor<4x32xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<4x32xf32>) -> tensor<4x32x1xf32>
    %cst_0 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x32x1xf32>
    %11 = stablehlo.divide %9, %10 : tensor<4x32x1xf32>
    %12 = stablehlo.convert %11 : (tensor<4x32x1xf32>) -> tensor<4x32x1xbf16>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2] : (tensor<4x32x1xbf16>) -> tensor<4x32x64xbf16>
    %14 = stablehlo.subtract %0#0, %13 : tensor<4x32x64xbf16>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %15:4 = call @_var_12(%0#0, %c) : (tensor<4x32x64xbf16>, tensor<i32>) -> (tensor<4x32x1xbf16>, tensor<4x32x64xf32>, tensor<f32>, tensor<i1>)
    %cst_1 = stablehlo.constant dense<1.001360e-05> : tensor<bf16>
    %16 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<bf16>) -> tensor<4x32x1xbf16>
    %17 = stablehlo.add %15#0, %16 : tensor<4x32x1xbf16>
    %18 = stablehlo.rsqrt %17 : tensor<4x32x1xbf16>
    %19 = stablehlo.divide %18, %17 : tensor<4x32x1xbf16>
    %cst_2 = stablehlo.constant dense<-5.000000e-01> : tensor<bf16>
    %20 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<bf16>) -> tensor<4x32x1xbf16>
    %21 = stablehlo.multiply %20, %19 : tensor<4x32x1xbf16>
    %22 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2] : (tensor<4x32x1xbf16>) -> tensor<4x32x64xbf16>
    %23 = stablehlo.multiply %14, %22 : tensor<4x32x64xbf16>
    %24 = stablehlo.broadcast_in_dim %2, dims = [2] : (tensor<64xbf16>) -> tensor<1x1x64xbf16>
    %25 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2] : (tensor<1x1x64xbf16>) -> tensor<4x32x64xbf16>
    %26 = stablehlo.multiply %23, %25 : tensor<4x32x64xbf16>
    %27 = stablehlo.dot_general %26, %5, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x32x64xbf16>, tensor<64x192xbf16>) -> tensor<4x32x192xbf16>
    %28 = stablehlo.slice %27 [0:4, 0:32, 0:64] : (tensor<4x32x192xbf16>) -> tensor<4x32x64xbf16>
    %29 = stablehlo.slice %27 [0:4, 0:32, 64:128] : (tensor<4x32x192xbf16>) -> tensor<4x32x64xbf16>
    %30 = stablehlo.slice %27 [0:4, 0:32, 128:192] : (tensor<4x32x192xbf16>) -> tensor<4x32x64xbf16>
    %31 = stablehlo.reshape %28 : (tensor<4x32x64xbf16>) -> tensor<4x32x4x16xbf16>
    %32 = stablehlo.reshape %29 : (tensor<4x32x64xbf16>) -> tensor<4x32x4x16xbf16>
    %33 = stablehlo.reshape %30 : (tensor<4x32x64xbf16>) -> tensor<4x32x4x16xbf16>
    %34 = stablehlo.dot_general %31, %32, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x32x4x16xbf16>, tensor<4x32x4x16xbf16>) -> tensor<4x4x32x32xbf16>
    %cst_3 = stablehlo.constant dense<2.500000e-01> : tensor<bf16>
    %35 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<bf16>) -> tensor<4x4x32x32xbf16>
    %36 = stablehlo.multiply %34, %35 : tensor<4x4x32x32xbf16>
    %c_4 = stablehlo.constant dense<true> : tensor<i1>
    %37 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i1>) -> tensor<32x32xi1>
    %38 = call @tril_14(%37) : (tensor<32x32xi1>) -> tensor<32x32xi1>
    %cst_5 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %39:2 = call @_where_15(%38, %36, %cst_5) : (tensor<32x32xi1>, tensor<4x4x32x32xbf16>, tensor<f32>) -> (tensor<4x4x32x32xbf16>, tensor<4x4x32x32xi1>)
    %cst_6 = stablehlo.constant dense<0xFF80> : tensor<bf16>
    %40 = stablehlo.reduce(%39#0 init: %cst_6) applies stablehlo.maximum across dimensions = [3] : (tensor<4x4x32x32xbf16>, tensor<bf16>) -> tensor<4x4x32xbf16>
    %cst_7 = stablehlo.constant dense<0xFF80> : tensor<bf16>
    %41 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<bf16>) -> tensor<4x4x32xbf16>
    %42 = stablehlo.maximum %41, %40 : tensor<4x4x32xbf16>
    %43 = stablehlo.broadcast_in_dim %42, dims = [0, 1, 2] : (tensor<4x4x32xbf16>) -> tensor<4x4x32x1xbf16>
    %44 = stablehlo.broadcast_in_dim %43, dims = [0, 1, 2, 3] : (tensor<4x4x32x1xbf16>) -> tensor<4x4x32x32xbf16>
    %45 = stablehlo.subtract %39#0, %44 : tensor<4x4x32x32xbf16>
    %46 = stablehlo.exponential %45 : tensor<4x4x32x32xbf16>
    %47 = stablehlo.convert %46 : (tensor<4x4x32x32xbf16>) -> tensor<4x4x32x32xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %48 = stablehlo.reduce(%47 init: %cst_8) applies stablehlo.add across dimensions = [3] : (tensor<4x4x32x32xf32>, tensor<f32>) -> tensor<4x4x32xf32>
    %49 = stablehlo.broadcast_in_dim %48, dims = [0, 1, 2] : (tensor<4x4x32xf32>) -> tensor<4x4x32x1xf32>
    %50 = stablehlo.convert %49 : (tensor<4x4x32x1xf32>) -> tensor<4x4x32x1xbf16>
    %51 = stablehlo.broadcast_in_dim %50, dims = [0, 1, 2, 3] : (tensor<4x4x32x1xbf16>) -> tensor<4x4x32x32xbf16>
    %52 = stablehlo.divide %46, %51 : tensor<4x4x32x32xbf16>
    %53 = stablehlo.multiply %50, %50 : tensor<4x4x32x1xbf16>
    %cst_9 = stablehlo.constant dense<1.000000e+00> : tensor<bf16>
    %54 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<bf16>) -> tensor<4x4x32x1xbf16>
    %55 = stablehlo.divide %54, %53 : tensor<4x4x32x1xbf16>
    %56 = stablehlo.dot_general %33, %52, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x32x4x16xbf16>, tensor<4x4x32x32xbf16>) -> tensor<4x4x16x32xbf16>
    %57 = stablehlo.transpose %56, dims = [0, 3, 1, 2] : (tensor<4x4x16x32xbf16>) -> tensor<4x32x4x16xbf16>
    %58 = stablehlo.reshape %57 : (tensor<4x32x4x16xbf16>) -> tensor<4x32x64xbf16>
    %59 = stablehlo.dot_general %58, %4, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x32x64xbf16>, tensor<64x64xbf16>) -> tensor<4x32x64xbf16>
    %60 = stablehlo.add %0#0, %59 : tensor<4x32x64xbf16>
    %61 = stablehlo.convert %60 : (tensor<4x32x64xbf16>) -> tensor<4x32x64xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %62 = stablehlo.reduce(%61 init: %cst_10) applies stablehlo.add across dimensions = [2] : (tensor<4x32x64xf32>, tensor<f32>) -> tensor<4x32xf32>
    %63 = stablehlo.broadcast_in_dim %62, dims = [0, 1] : (tensor<4x32xf32>) -> tensor<4x32x1xf32>
    %cst_11 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %64 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<4x32x1xf32>
    %65 = stablehlo.divide %63, %64 : tensor<4x32x1xf32>
    %66 = stablehlo.convert %65 : (tensor<4x32x1xf32>) -> tensor<4x32x1xbf16>
    %67 = stablehlo.broadcast_in_dim %66, dims = [0, 1, 2] : (tensor<4x32x1xbf16>) -> tensor<4x32x64xbf16>
    %68 = stablehlo.subtract %60, %67 : tensor<4x32x64xbf16>
    %c_12 = stablehlo.constant dense<0> : tensor<i32>
    %69:4 = call @_var_12(%60, %c_12) : (tensor<4x32x64xbf16>, tensor<i32>) -> (tensor<4x32x1xbf16>, tensor<4x32x64xf32>, tensor<f32>, tensor<i1>)
    %cst_13 = stablehlo.constant dense<1.001360e-05> : tensor<bf16>
    %70 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<bf16>) -> tensor<4x32x1xbf16>
    %71 = stablehlo.add %69#0, %70 : tensor<4x32x1xbf16>
    %72 = stablehlo.rsqrt %71 : tensor<4x32x1xbf16>
    %73 = stablehlo.divide %72, %71 : tensor<4x32x1xbf16>
    %cst_14 = stablehlo.constant dense<-5.000000e-01> : tensor<bf16>
    %74 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<bf16>) -> tensor<4x32x1xbf16>
    %75 = stablehlo.multiply %74, %73 : tensor<4x32x1xbf16>
    %76 = stablehlo.broadcast_in_dim %72, dims = [0, 1, 2] : (tensor<4x32x1xbf16>) -> tensor<4x32x64xbf16>
    %77 = stablehlo.multiply %68, %76 : tensor<4x32x64xbf16>
    %78 = stablehlo.broadcast_in_dim %3, dims = [2] : (tensor<64xbf16>) -> tensor<1x1x64xbf16>
    %79 = stablehlo.broadcast_in_dim %78, dims = [0, 1, 2] : (tensor<1x1x64xbf16>) -> tensor<4x32x64xbf16>
    %80 = stablehlo.multiply %77, %79 : tensor<4x32x64xbf16>
    %81 = stablehlo.dot_general %80, %6, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x32x64xbf16>, tensor<64x256xbf16>) -> tensor<4x32x256xbf16>
    %82 = stablehlo.multiply %81, %81 : tensor<4x32x256xbf16>
    %83 = stablehlo.multiply %82, %81 : tensor<4x32x256xbf16>
    %84 = stablehlo.multiply %81, %81 : tensor<4x32x256xbf16>
    %cst_15 = stablehlo.constant dense<3.000000e+00> : tensor<bf16>
    %85 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<bf16>) -> tensor<4x32x256xbf16>
    %86 = stablehlo.multiply %85, %84 : tensor<4x32x256xbf16>
    %cst_16 = stablehlo.constant dense<4.467770e-02> : tensor<bf16>
    %87 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<bf16>) -> tensor<4x32x256xbf16>
    %88 = stablehlo.multiply %87, %83 : tensor<4x32x256xbf16>
    %89 = stablehlo.add %81, %88 : tensor<4x32x256xbf16>
    %cst_17 = stablehlo.constant dense<7.968750e-01> : tensor<bf16>
    %90 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<bf16>) -> tensor<4x32x256xbf16>
    %91 = stablehlo.multiply %90, %89 : tensor<4x32x256xbf16>
    %92 = stablehlo.tanh %91 : tensor<4x32x256xbf16>
    %cst_18 = stablehlo.constant dense<1.000000e+00> : tensor<bf16>
    %93 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<bf16>) -> tensor<4x32x256xbf16>
    %94 = stablehlo.subtract %93, %92 : tensor<4x32x256xbf16>
    %cst_19 = stablehlo.constant dense<1.000000e+00> : tensor<bf16>
    %95 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<bf16>) -> tensor<4x32x256xbf16>
    %96 = stablehlo.add %95, %92 : tensor<4x32x256xbf16>
    %cst_20 = stablehlo.constant dense<5.000000e-01> : tensor<bf16>
    %97 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<bf16>) -> tensor<4x32x256xbf16>
    %98 = stablehlo.multiply %97, %96 : tensor<4x32x256xbf16>
    %99 = stablehlo.multiply %81, %98 : tensor<4x32x256xbf16>
    %100 = stablehlo.dot_general %0#7, %99, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x32x64xbf16>, tensor<4x32x256xbf16>) -> tensor<64x256xbf16>
    %101 = stablehlo.transpose %100, dims = [1, 0] : (tensor<64x256xbf16>) -> tensor<256x64xbf16>
    %102 = stablehlo.dot_general %0#7, %1, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x32x64xbf16>, tensor<256x64xbf16>) -> tensor<4x32x256xbf16>
    %103 = stablehlo.multiply %81, %102 : tensor<4x32x256xbf16>
    %104 = stablehlo.multiply %102, %98 : tensor<4x32x256xbf16>
    %cst_21 = stablehlo.constant dense<5.000000e-01> : tensor<bf16>
    %105 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<bf16>) -> tensor<4x32x256xbf16>
    %106 = stablehlo.multiply %105, %103 : tensor<4x32x256xbf16>
    %107 = stablehlo.multiply %106, %94 : tensor<4x32x256xbf16>
    %108 = stablehlo.multiply %107, %92 : tensor<4x32x256xbf16>
    %109 = stablehlo.add %107, %108 : tensor<4x32x256xbf16>
    %cst_22 = stablehlo.constant dense<7.968750e-01> : tensor<bf16>
    %110 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<bf16>) -> tensor<4x32x256xbf16>
    %111 = stablehlo.multiply %110, %109 : tensor<4x32x256xbf16>
    %112 = stablehlo.add %104, %111 : tensor<4x32x256xbf16>
    %cst_23 = stablehlo.constant dense<4.467770e-02> : tensor<bf16>
    %113 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<bf16>) -> tensor<4x32x256xbf16>
    %114 = stablehlo.multiply %113, %111 : tensor<4x32x256xbf16>
    %115 = stablehlo.multiply %114, %86 : tensor<4x32x256xbf16>
    %116 = stablehlo.add %112, %115 : tensor<4x32x256xbf16>
    %117 = stablehlo.dot_general %116, %80, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x32x256xbf16>, tensor<4x32x64xbf16>) -> tensor<256x64xbf16>
    %118 = stablehlo.transpose %117, dims = [1, 0] : (tensor<256x64xbf16>) -> tensor<64x256xbf16>
    %119 = stablehlo.dot_general %116, %6, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x32x256xbf16>, tensor<64x256xbf16>) -> tensor<4x32x64xbf16>
    %120 = stablehlo.multiply %77, %119 : tensor<4x32x64xbf16>
    %cst_24 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %121 = stablehlo.reduce(%120 init: %cst_24) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x32x64xbf16>, tensor<bf16>) -> tensor<64xbf16>
    %122 = stablehlo.reshape %121 : (tensor<64xbf16>) -> tensor<1x1x64xbf16>
    %123 = stablehlo.broadcast_in_dim %78, dims = [0, 1, 2] : (tensor<1x1x64xbf16>) -> tensor<4x32x64xbf16>
    %124 = stablehlo.multiply %119, %123 : tensor<4x32x64xbf16>
    %cst_25 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %125 = stablehlo.reduce(%122 init: %cst_25) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x64xbf16>, tensor<bf16>) -> tensor<64xbf16>
    %126 = stablehlo.multiply %68, %124 : tensor<4x32x64xbf16>
    %cst_26 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %127 = stablehlo.reduce(%126 init: %cst_26) applies stablehlo.add across dimensions = [2] : (tensor<4x32x64xbf16>, tensor<bf16>) -> tensor<4x32xbf16>
    %128 = stablehlo.reshape %127 : (tensor<4x32xbf16>) -> tensor<4x32x1xbf16>
    %129 = stablehlo.broadcast_in_dim %72, dims = [0, 1, 2] : (tensor<4x32x1xbf16>) -> tensor<4x32x64xbf16>
    %130 = stablehlo.multiply %124, %129 : tensor<4x32x64xbf16>
    %131 = stablehlo.multiply %128, %75 : tensor<4x32x1xbf16>
    %132 = call @_var_16(%69#1, %69#2, %69#3, %131) : (tensor<4x32x64xf32>, tensor<f32>, tensor<i1>, tensor<4x32x1xbf16>) -> tensor<4x32x64xbf16>
    %133 = stablehlo.add %0#7, %132 : tensor<4x32x64xbf16>
    %134 = stablehlo.negate %130 : tensor<4x32x64xbf16>
    %cst_27 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %135 = stablehlo.reduce(%134 init: %cst_27) applies stablehlo.add across dimensions = [2] : (tensor<4x32x64xbf16>, tensor<bf16>) -> tensor<4x32xbf16>
    %136 = stablehlo.reshape %135 : (tensor<4x32xbf16>) -> tensor<4x32x1xbf16>
    %137 = stablehlo.add %133, %130 : tensor<4x32x64xbf16>
    %138 = stablehlo.convert %136 : (tensor<4x32x1xbf16>) -> tensor<4x32x1xf32>
    %cst_28 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %139 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<4x32x1xf32>
    %140 = stablehlo.divide %138, %139 : tensor<4x32x1xf32>
    %cst_29 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %141 = stablehlo.reduce(%140 init: %cst_29) applies stablehlo.add across dimensions = [2] : (tensor<4x32x1xf32>, tensor<f32>) -> tensor<4x32xf32>
    %142 = stablehlo.broadcast_in_dim %141, dims = [0, 1] : (tensor<4x32xf32>) -> tensor<4x32x64xf32>
    %143 = stablehlo.convert %142 : (tensor<4x32x64xf32>) -> tensor<4x32x64xbf16>
    %144 = stablehlo.add %137, %143 : tensor<4x32x64xbf16>
    %145 = stablehlo.dot_general %144, %58, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x32x64xbf16>, tensor<4x32x64xbf16>) -> tensor<64x64xbf16>
    %146 = stablehlo.transpose %145, dims = [1, 0] : (tensor<64x64xbf16>) -> tensor<64x64xbf16>
    %147 = stablehlo.dot_general %144, %4, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x32x64xbf16>, tensor<64x64xbf16>) -> tensor<4x32x64xbf16>
    %148 = stablehlo.reshape %147 : (tensor<4x32x64xbf16>) -> tensor<4x32x4x16xbf16>
    %149 = stablehlo.transpose %148, dims = [0, 2, 3, 1] : (tensor<4x32x4x16xbf16>) -> tensor<4x4x16x32xbf16>
    %150 = stablehlo.dot_general %149, %33, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x4x16x32xbf16>, tensor<4x32x4x16xbf16>) -> tensor<4x4x32x32xbf16>
    %151 = stablehlo.dot_general %149, %52, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<4x4x16x32xbf16>, tensor<4x4x32x32xbf16>) -> tensor<4x4x16x32xbf16>
    %152 = stablehlo.transpose %151, dims = [0, 3, 1, 2] : (tensor<4x4x16x32xbf16>) -> tensor<4x32x4x16xbf16>
    %153 = stablehlo.broadcast_in_dim %55, dims = [0, 1, 2, 3] : (tensor<4x4x32x1xbf16>) -> tensor<4x4x32x32xbf16>
    %154 = stablehlo.multiply %150, %153 : tensor<4x4x32x32xbf16>
    %155 = stablehlo.multiply %154, %46 : tensor<4x4x32x32xbf16>
    %cst_30 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %156 = stablehlo.reduce(%155 init: %cst_30) applies stablehlo.add across dimensions = [3] : (tensor<4x4x32x32xbf16>, tensor<bf16>) -> tensor<4x4x32xbf16>
    %157 = stablehlo.reshape %156 : (tensor<4x4x32xbf16>) -> tensor<4x4x32x1xbf16>
    %158 = stablehlo.negate %157 : tensor<4x4x32x1xbf16>
    %159 = stablehlo.broadcast_in_dim %50, dims = [0, 1, 2, 3] : (tensor<4x4x32x1xbf16>) -> tensor<4x4x32x32xbf16>
    %160 = stablehlo.divide %150, %159 : tensor<4x4x32x32xbf16>
    %161 = stablehlo.convert %158 : (tensor<4x4x32x1xbf16>) -> tensor<4x4x32x1xf32>
    %cst_31 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %162 = stablehlo.reduce(%161 init: %cst_31) applies stablehlo.add across dimensions = [3] : (tensor<4x4x32x1xf32>, tensor<f32>) -> tensor<4x4x32xf32>
    %163 = stablehlo.broadcast_in_dim %162, dims = [0, 1, 2] : (tensor<4x4x32xf32>) -> tensor<4x4x32x32xf32>
    %164 = stablehlo.convert %163 : (tensor<4x4x32x32xf32>) -> tensor<4x4x32x32xbf16>
    %165 = stablehlo.add %160, %164 : tensor<4x4x32x32xbf16>
    %166 = stablehlo.multiply %165, %46 : tensor<4x4x32x32xbf16>
    %167 = call @_where_18(%39#1, %166) : (tensor<4x4x32x32xi1>, tensor<4x4x32x32xbf16>) -> tensor<4x4x32x32xbf16>
    %cst_32 = stablehlo.constant dense<2.500000e-01> : tensor<bf16>
    %168 = stablehlo.broadcast_in_dim %cst_32, dims = [] : (tensor<bf16>) -> tensor<4x4x32x32xbf16>
    %169 = stablehlo.multiply %167, %168 : tensor<4x4x32x32xbf16>
    %170 = stablehlo.dot_general %169, %31, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x4x32x32xbf16>, tensor<4x32x4x16xbf16>) -> tensor<4x4x32x16xbf16>
    %171 = stablehlo.transpose %170, dims = [0, 2, 1, 3] : (tensor<4x4x32x16xbf16>) -> tensor<4x32x4x16xbf16>
    %172 = stablehlo.dot_general %169, %32, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x4x32x32xbf16>, tensor<4x32x4x16xbf16>) -> tensor<4x4x32x16xbf16>
    %173 = stablehlo.transpose %172, dims = [0, 2, 1, 3] : (tensor<4x4x32x16xbf16>) -> tensor<4x32x4x16xbf16>
    %174 = stablehlo.reshape %152 : (tensor<4x32x4x16xbf16>) -> tensor<4x32x64xbf16>
    %175 = stablehlo.reshape %171 : (tensor<4x32x4x16xbf16>) -> tensor<4x32x64xbf16>
    %176 = stablehlo.reshape %173 : (tensor<4x32x4x16xbf16>) -> tensor<4x32x64xbf16>
    %177 = stablehlo.concatenate %176, %175, %174, dim = 2 : (tensor<4x32x64xbf16>, tensor<4x32x64xbf16>, tensor<4x32x64xbf16>) -> tensor<4x32x192xbf16>
    %178 = stablehlo.dot_general %177, %26, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x32x192xbf16>, tensor<4x32x64xbf16>) -> tensor<192x64xbf16>
    %179 = stablehlo.transpose %178, dims = [1, 0] : (tensor<192x64xbf16>) -> tensor<64x192xbf16>
    %180 = stablehlo.dot_general %177, %5, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x32x192xbf16>, tensor<64x192xbf16>) -> tensor<4x32x64xbf16>
    %181 = stablehlo.multiply %23, %180 : tensor<4x32x64xbf16>
    %cst_33 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %182 = stablehlo.reduce(%181 init: %cst_33) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x32x64xbf16>, tensor<bf16>) -> tensor<64xbf16>
    %183 = stablehlo.reshape %182 : (tensor<64xbf16>) -> tensor<1x1x64xbf16>
    %184 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2] : (tensor<1x1x64xbf16>) -> tensor<4x32x64xbf16>
    %185 = stablehlo.multiply %180, %184 : tensor<4x32x64xbf16>
    %cst_34 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %186 = stablehlo.reduce(%183 init: %cst_34) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x64xbf16>, tensor<bf16>) -> tensor<64xbf16>
    %187 = stablehlo.multiply %14, %185 : tensor<4x32x64xbf16>
    %cst_35 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %188 = stablehlo.reduce(%187 init: %cst_35) applies stablehlo.add across dimensions = [2] : (tensor<4x32x64xbf16>, tensor<bf16>) -> tensor<4x32xbf16>
    %189 = stablehlo.reshape %188 : (tensor<4x32xbf16>) -> tensor<4x32x1xbf16>
    %190 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2] : (tensor<4x32x1xbf16>) -> tensor<4x32x64xbf16>
    %191 = stablehlo.multiply %185, %190 : tensor<4x32x64xbf16>
    %192 = stablehlo.multiply %189, %21 : tensor<4x32x1xbf16>
    %193 = call @_var_16(%15#1, %15#2, %15#3, %192) : (tensor<4x32x64xf32>, tensor<f32>, tensor<i1>, tensor<4x32x1xbf16>) -> tensor<4x32x64xbf16>
    %194 = stablehlo.add %144, %193 : tensor<4x32x64xbf16>
    %195 = stablehlo.negate %191 : tensor<4x32x64xbf16>
    %cst_36 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %196 = stablehlo.reduce(%195 init: %cst_36) applies stablehlo.add across dimensions = [2] : (tensor<4x32x64xbf16>, tensor<bf16>) -> tensor<4x32xbf16>
    %197 = stablehlo.reshape %196 : (tensor<4x32xbf16>) -> tensor<4x32x1xbf16>
    %198 = stablehlo.add %194, %191 : tensor<4x32x64xbf16>
    %199 = stablehlo.convert %197 : (tensor<4x32x1xbf16>) -> tensor<4x32x1xf32>
    %cst_37 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %200 = stablehlo.broadcast_in_dim %cst_37, dims = [] : (tensor<f32>) -> tensor<4x32x1xf32>
    %201 = stablehlo.divide %199, %200 : tensor<4x32x1xf32>
    %cst_38 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %202 = stablehlo.reduce(%201 init: %cst_38) applies stablehlo.add across dimensions = [2] : (tensor<4x32x1xf32>, tensor<f32>) -> tensor<4x32xf32>
    %203 = stablehlo.broadcast_in_dim %202, dims = [0, 1] : (tensor<4x32xf32>) -> tensor<4x32x64xf32>
    %204 = stablehlo.convert %203 : (tensor<4x32x64xf32>) -> tensor<4x32x64xbf16>
    %205 = stablehlo.add %198, %204 : tensor<4x32x64xbf16>
    %206 = stablehlo.convert %118 : (tensor<64x256xbf16>) -> tensor<64x256xf32>
    %207 = stablehlo.convert %179 : (tensor<64x192xbf16>) -> tensor<64x192xf32>
    %208 = stablehlo.convert %146 : (tensor<64x64xbf16>) -> tensor<64x64xf32>
    %209 = stablehlo.convert %125 : (tensor<64xbf16>) -> tensor<64xf32>
    %210 = stablehlo.convert %186 : (tensor<64xbf16>) -> tensor<64xf32>
    %211 = stablehlo.convert %101 : (tensor<256x64xbf16>) -> tensor<256x64xf32>
    return %205, %211, %210, %209, %208, %207, %206 : tensor<4x32x64xbf16>, tensor<256x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64x192xf32>, tensor<64x256xf32>
  }
  func.func private @_var_12(%arg0: tensor<4x32x64xbf16>, %arg1: tensor<i32>) -> (tensor<4x32x1xbf16>, tensor<4x32x64xf32>, tensor<f32>, tensor<i1>) {
    %0 = stablehlo.convert %arg0 : (tensor<4x32x64xbf16>) -> tensor<4x32x64xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x32x64xf32>, tensor<f32>) -> tensor<4x32xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<4x32xf32>) -> tensor<4x32x1xf32>
    %cst_0 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x32x1xf32>
    %4 = stablehlo.divide %2, %3 : tensor<4x32x1xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2] : (tensor<4x32x1xf32>) -> tensor<4x32x64xf32>
    %6 = stablehlo.subtract %0, %5 : tensor<4x32x64xf32>
    %7 = chlo.square %6 : tensor<4x32x64xf32> -> tensor<4x32x64xf32>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x32x64xf32>
    %9 = stablehlo.multiply %8, %6 : tensor<4x32x64xf32>
    %10 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %cst_2 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %11 = stablehlo.subtract %cst_2, %10 : tensor<f32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %12 = stablehlo.reduce(%7 init: %cst_3) applies stablehlo.add across dimensions = [2] : (tensor<4x32x64xf32>, tensor<f32>) -> tensor<4x32xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1] : (tensor<4x32xf32>) -> tensor<4x32x1xf32>
    %14 = stablehlo.broadcast_in_dim %11, dims = [] : (tensor<f32>) -> tensor<4x32x1xf32>
    %15 = stablehlo.divide %13, %14 : tensor<4x32x1xf32>
    %16 = stablehlo.convert %15 : (tensor<4x32x1xf32>) -> tensor<4x32x1xbf16>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %17 = stablehlo.compare GT, %11, %cst_4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %cst_5 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %18 = call @_where_13(%17, %16, %cst_5) : (tensor<i1>, tensor<4x32x1xbf16>, tensor<f32>) -> tensor<4x32x1xbf16>
    return %18, %9, %11, %17 : tensor<4x32x1xbf16>, tensor<4x32x64xf32>, tensor<f32>, tensor<i1>
  }
  func.func private @_where_13(%arg0: tensor<i1>, %arg1: tensor<4x32x1xbf16>, %arg2: tensor<f32>) -> tensor<4x32x1xbf16> {
    %0 = stablehlo.convert %arg2 : (tensor<f32>) -> tensor<bf16>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<bf16>) -> tensor<4x32x1xbf16>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<i1>, tensor<4x32x1xbf16>
    return %2 : tensor<4x32x1xbf16>
  }
  func.func private @tril_14(%arg0: tensor<32x32xi1>) -> tensor<32x32xi1> {
    %0 = stablehlo.iota dim = 0 : tensor<32x32xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<32x32xi32>
    %2 = stablehlo.add %0, %1 : tensor<32x32xi32>
    %3 = stablehlo.iota dim = 1 : tensor<32x32xi32>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<32x32xi32>, tensor<32x32xi32>) -> tensor<32x32xi1>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<32x32xi1>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<32x32xi1>, tensor<32x32xi1>
    return %6 : tensor<32x32xi1>
  }
  func.func private @_where_15(%arg0: tensor<32x32xi1>, %arg1: tensor<4x4x32x32xbf16>, %arg2: tensor<f32>) -> (tensor<4x4x32x32xbf16>, tensor<4x4x32x32xi1>) {
    %0 = stablehlo.convert %arg2 : (tensor<f32>) -> tensor<bf16>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<32x32xi1>) -> tensor<4x4x32x32xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<bf16>) -> tensor<4x4x32x32xbf16>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<4x4x32x32xi1>, tensor<4x4x32x32xbf16>
    return %3, %1 : tensor<4x4x32x32xbf16>, tensor<4x4x32x32xi1>
  }
  func.func private @_var_16(%arg0: tensor<4x32x64xf32>, %arg1: tensor<f32>, %arg2: tensor<i1>, %arg3: tensor<4x32x1xbf16>) -> tensor<4x32x64xbf16> {
    %0 = call @_where_17(%arg2, %arg3) : (tensor<i1>, tensor<4x32x1xbf16>) -> tensor<4x32x1xbf16>
    %1 = stablehlo.convert %0 : (tensor<4x32x1xbf16>) -> tensor<4x32x1xf32>
    %2 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<4x32x1xf32>
    %3 = stablehlo.divide %1, %2 : tensor<4x32x1xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x32x1xf32>, tensor<f32>) -> tensor<4x32xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<4x32xf32>) -> tensor<4x32x64xf32>
    %6 = stablehlo.multiply %5, %arg0 : tensor<4x32x64xf32>
    %7 = stablehlo.negate %6 : tensor<4x32x64xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.reduce(%7 init: %cst_0) applies stablehlo.add across dimensions = [2] : (tensor<4x32x64xf32>, tensor<f32>) -> tensor<4x32xf32>
    %9 = stablehlo.reshape %8 : (tensor<4x32xf32>) -> tensor<4x32x1xf32>
    %cst_1 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x32x1xf32>
    %11 = stablehlo.divide %9, %10 : tensor<4x32x1xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %12 = stablehlo.reduce(%11 init: %cst_2) applies stablehlo.add across dimensions = [2] : (tensor<4x32x1xf32>, tensor<f32>) -> tensor<4x32xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1] : (tensor<4x32xf32>) -> tensor<4x32x64xf32>
    %14 = stablehlo.add %6, %13 : tensor<4x32x64xf32>
    %15 = stablehlo.convert %14 : (tensor<4x32x64xf32>) -> tensor<4x32x64xbf16>
    return %15 : tensor<4x32x64xbf16>
  }
  func.func private @_where_17(%arg0: tensor<i1>, %arg1: tensor<4x32x1xbf16>) -> tensor<4x32x1xbf16> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<bf16>) -> tensor<4x32x1xbf16>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<i1>, tensor<4x32x1xbf16>
    return %1 : tensor<4x32x1xbf16>
  }
  func.func private @_where_18(%arg0: tensor<4x4x32x32xi1>, %arg1: tensor<4x4x32x32xbf16>) -> tensor<4x4x32x32xbf16> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<bf16>) -> tensor<4x4x32x32xbf16>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<4x4x32x32xi1>, tensor<4x4x32x32xbf16>
    return %1 : tensor<4x4x32x32xbf16>
  }
  func.func private @dynamic_update_index_in_dim_19(%arg0: tensor<2x256x64xf32>, %arg1: tensor<256x64xf32>, %arg2: tensor<i32>) -> tensor<2x256x64xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2] : (tensor<256x64xf32>) -> tensor<1x256x64xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c, %c_0 : (tensor<2x256x64xf32>, tensor<1x256x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x256x64xf32>
    return %1 : tensor<2x256x64xf32>
  }
  func.func private @dynamic_update_index_in_dim_20(%arg0: tensor<2x64xf32>, %arg1: tensor<64xf32>, %arg2: tensor<i32>) -> tensor<2x64xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c : (tensor<2x64xf32>, tensor<1x64xf32>, tensor<i32>, tensor<i32>) -> tensor<2x64xf32>
    return %1 : tensor<2x64xf32>
  }
  func.func private @dynamic_update_index_in_dim_21(%arg0: tensor<2x64x64xf32>, %arg1: tensor<64x64xf32>, %arg2: tensor<i32>) -> tensor<2x64x64xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2] : (tensor<64x64xf32>) -> tensor<1x64x64xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c, %c_0 : (tensor<2x64x64xf32>, tensor<1x64x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x64x64xf32>
    return %1 : tensor<2x64x64xf32>
  }
  func.func private @dynamic_update_index_in_dim_22(%arg0: tensor<2x64x192xf32>, %arg1: tensor<64x192xf32>, %arg2: tensor<i32>) -> tensor<2x64x192xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2] : (tensor<64x192xf32>) -> tensor<1x64x192xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c, %c_0 : (tensor<2x64x192xf32>, tensor<1x64x192xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x64x192xf32>
    return %1 : tensor<2x64x192xf32>
  }
  func.func private @dynamic_update_index_in_dim_23(%arg0: tensor<2x64x256xf32>, %arg1: tensor<64x256xf32>, %arg2: tensor<i32>) -> tensor<2x64x256xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2] : (tensor<64x256xf32>) -> tensor<1x64x256xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c, %c_0 : (tensor<2x64x256xf32>, tensor<1x64x256xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x64x256xf32>
    return %1 : tensor<2x64x256xf32>
  }
}
