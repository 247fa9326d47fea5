module @jit_train_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<128xf32>, %arg1: tensor<48x32xf32>, %arg2: tensor<32x48xf32>, %arg3: tensor<32x128xf32>, %arg4: tensor<32x128xf32>, %arg5: tensor<4x5xi32>) -> (tensor<128xf32> {jax.result_info = "result[0]['bias']"}, tensor<48x32xf32> {jax.result_info = "result[0]['embedding']"}, tensor<32x48xf32> {jax.result_info = "result[0]['head']"}, tensor<32x128xf32> {jax.result_info = "result[0]['hidden']"}, tensor<32x128xf32> {jax.result_info = "result[0]['input']"}, tensor<f32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.slice %arg5 [0:4, 0:4] : (tensor<4x5xi32>) -> tensor<4x4xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4x4xi32>
    %2 = stablehlo.compare LT, %0, %1, SIGNED : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
    %c_0 = stablehlo.constant dense<48> : tensor<i32>
    %3 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<4x4xi32>
    %4 = stablehlo.add %0, %3 : tensor<4x4xi32>
    %5 = stablehlo.select %2, %4, %0 : tensor<4x4xi1>, tensor<4x4xi32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<4x4xi32>) -> tensor<4x4x1xi32>
    %7 = "stablehlo.gather"(%arg1, %6) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 32>}> : (tensor<48x32xf32>, tensor<4x4x1xi32>) -> tensor<4x4x32xf32>
    %8 = stablehlo.transpose %7, dims = [1, 0, 2] : (tensor<4x4x32xf32>) -> tensor<4x4x32xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x32xf32>
    %10 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<128xf32>) -> tensor<1x128xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x4x32xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4x4x32xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<4x4x32xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<4x4x32xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<4x4x32xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %16 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<4x4x32xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %17 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<4x4x32xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<4x4x32xf32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<4x4x32xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<4x4x32xf32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<4x4x32xf32>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<4x4x32xf32>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %23 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<4x4x32xf32>
    %c_14 = stablehlo.constant dense<0> : tensor<i32>
    %24:20 = stablehlo.while(%iterArg = %8, %iterArg_32 = %arg4, %iterArg_33 = %arg3, %iterArg_34 = %10, %iterArg_35 = %c_14, %iterArg_36 = %9, %iterArg_37 = %9, %iterArg_38 = %11, %iterArg_39 = %12, %iterArg_40 = %13, %iterArg_41 = %14, %iterArg_42 = %15, %iterArg_43 = %16, %iterArg_44 = %17, %iterArg_45 = %18, %iterArg_46 = %19, %iterArg_47 = %20, %iterArg_48 = %21, %iterArg_49 = %22, %iterArg_50 = %23) : tensor<4x4x32xf32>, tensor<32x128xf32>, tensor<32x128xf32>, tensor<1x128xf32>, tensor<i32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>
    cond {
      %c_51 = stablehlo.constant dense<4> : tensor<i32>
      %68 = stablehlo.compare LT, %iterArg_35, %c_51, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %68 : tensor<i1>
    } do {
      %68 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_35) : (tensor<4x4x32xf32>, tensor<i32>) -> tensor<4x32xf32>
      %69:15 = func.call @closed_call(%iterArg_32, %iterArg_33, %iterArg_34, %iterArg_36, %iterArg_37, %68) : (tensor<32x128xf32>, tensor<32x128xf32>, tensor<1x128xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>) -> (tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>)
      %70 = func.call @dynamic_update_index_in_dim(%iterArg_38, %69#2, %iterArg_35) : (tensor<4x4x32xf32>, tensor<4x32xf32>, tensor<i32>) -> tensor<4x4x32xf32>
      %71 = func.call @dynamic_update_index_in_dim(%iterArg_39, %69#3, %iterArg_35) : (tensor<4x4x32xf32>, tensor<4x32xf32>, tensor<i32>) -> tensor<4x4x32xf32>
      %72 = func.call @dynamic_update_index_in_dim(%iterArg_40, %69#4, %iterArg_35) : (tensor<4x4x32xf32>, tensor<4x32xf32>, tensor<i32>) -> tensor<4x4x32xf32>
      %73 = func.call @dynamic_update_index_in_dim(%iterArg_41, %69#5, %iterArg_35) : (tensor<4x4x32xf32>, tensor<4x32xf32>, tensor<i32>) -> tensor<4x4x32xf32>
      %74 = func.call @dynamic_update_index_in_dim(%iterArg_42, %69#6, %iterArg_35) : (tensor<4x4x32xf32>, tensor<4x32xf32>, tensor<i32>) -> tensor<4x4x32xf32>
      %75 = func.call @dynamic_update_index_in_dim(%iterArg_43, %69#7, %iterArg_35) : (tensor<4x4x32xf32>, tensor<4x32xf32>, tensor<i32>) -> tensor<4x4x32xf32>
      %76 = func.call @dynamic_update_index_in_dim(%iterArg_44, %69#8, %iterArg_35) : (tensor<4x4x32xf32>, tensor<4x32xf32>, tensor<i32>) -> tensor<4x4x32xf32>
      %77 = func.call @dynamic_update_index_in_dim(%iterArg_45, %69#9, %iterArg_35) : (tensor<4x4x32xf32>, tensor<4x32xf32>, tensor<i32>) -> tensor<4x4x32xf32>
      %78 = func.call @dynamic_update_index_in_dim(%iterArg_46, %69#10, %iterArg_35) : (tensor<4x4x32xf32>, tensor<4x32xf32>, tensor<i32>) -> tensor<4x4x32xf32>
      %79 = func.call @dynamic_update_index_in_dim(%iterArg_47, %69#11, %iterArg_35) : (tensor<4x4x32xf32>, tensor<4x32xf32>, tensor<i32>) -> tensor<4x4x32xf32>
      %80 = func.call @dynamic_update_index_in_dim(%iterArg_48, %69#12, %iterArg_35) : (tensor<4x4x32xf32>, tensor<4x32xf32>, tensor<i32>) -> tensor<4x4x32xf32>
      %81 = func.call @dynamic_update_index_in_dim(%iterArg_49, %69#13, %iterArg_35) : (tensor<4x4x32xf32>, tensor<4x32xf32>, tensor<i32>) -> tensor<4x4x32xf32>
      %82 = func.call @dynamic_update_index_in_dim(%iterArg_50, %69#14, %iterArg_35) : (tensor<4x4x32xf32>, tensor<4x32xf32>, tensor<i32>) -> tensor<4x4x32xf32>
      %c_51 = stablehlo.constant dense<1> : tensor<i32>
      %83 = stablehlo.add %iterArg_35, %c_51 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_32, %iterArg_33, %iterArg_34, %83, %69#0, %69#1, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82 : tensor<4x4x32xf32>, tensor<32x128xf32>, tensor<32x128xf32>, tensor<1x128xf32>, tensor<i32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>
    }
    %25 = stablehlo.transpose %24#7, dims = [1, 0, 2] : (tensor<4x4x32xf32>) -> tensor<4x4x32xf32>
    %26 = stablehlo.dot_general %25, %arg2, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x4x32xf32>, tensor<32x48xf32>) -> tensor<4x4x48xf32>
    %27:3 = call @log_softmax(%26) : (tensor<4x4x48xf32>) -> (tensor<4x4x48xf32>, tensor<4x4x48xf32>, tensor<4x4x1xf32>)
    %28 = stablehlo.slice %arg5 [0:4, 1:5] : (tensor<4x5xi32>) -> tensor<4x4xi32>
    %29 = stablehlo.broadcast_in_dim %28, dims = [0, 1] : (tensor<4x4xi32>) -> tensor<4x4x1xi32>
    %30:2 = call @take_along_axis(%27#0, %29) : (tensor<4x4x48xf32>, tensor<4x4x1xi32>) -> (tensor<4x4x1xf32>, tensor<4x4x1x1xi32>)
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %31 = stablehlo.reduce(%30#0 init: %cst_15) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<4x4x1xf32>, tensor<f32>) -> tensor<f32>
    %cst_16 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %32 = stablehlo.divide %31, %cst_16 : tensor<f32>
    %33 = stablehlo.negate %32 : tensor<f32>
    %cst_17 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %34 = stablehlo.negate %cst_17 : tensor<f32>
    %cst_18 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %35 = stablehlo.divide %34, %cst_18 : tensor<f32>
    %36 = stablehlo.broadcast_in_dim %35, dims = [] : (tensor<f32>) -> tensor<4x4x1xf32>
    %37 = call @take_along_axis_0(%30#1, %36) : (tensor<4x4x1x1xi32>, tensor<4x4x1xf32>) -> tensor<4x4x48xf32>
    %38 = call @log_softmax_1(%27#1, %27#2, %37) : (tensor<4x4x48xf32>, tensor<4x4x1xf32>, tensor<4x4x48xf32>) -> tensor<4x4x48xf32>
    %39 = stablehlo.dot_general %38, %25, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x4x48xf32>, tensor<4x4x32xf32>) -> tensor<48x32xf32>
    %40 = stablehlo.transpose %39, dims = [1, 0] : (tensor<48x32xf32>) -> tensor<32x48xf32>
    %41 = stablehlo.dot_general %38, %arg2, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x4x48xf32>, tensor<32x48xf32>) -> tensor<4x4x32xf32>
    %42 = stablehlo.transpose %41, dims = [1, 0, 2] : (tensor<4x4x32xf32>) -> tensor<4x4x32xf32>
    %cst_19 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %43 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<4x32xf32>
    %cst_20 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %44 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<4x32xf32>
    %cst_21 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %45 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %cst_22 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %46 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %cst_23 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %47 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %cst_24 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %48 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<4x4x32xf32>
    %c_25 = stablehlo.constant dense<0> : tensor<i32>
    %49:23 = stablehlo.while(%iterArg = %42, %iterArg_32 = %8, %iterArg_33 = %24#8, %iterArg_34 = %24#9, %iterArg_35 = %24#10, %iterArg_36 = %24#11, %iterArg_37 = %24#12, %iterArg_38 = %24#13, %iterArg_39 = %24#14, %iterArg_40 = %24#15, %iterArg_41 = %24#16, %iterArg_42 = %24#17, %iterArg_43 = %24#18, %iterArg_44 = %24#19, %iterArg_45 = %arg4, %iterArg_46 = %arg3, %iterArg_47 = %c_25, %iterArg_48 = %45, %iterArg_49 = %46, %iterArg_50 = %47, %iterArg_51 = %43, %iterArg_52 = %44, %iterArg_53 = %48) : tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<32x128xf32>, tensor<32x128xf32>, tensor<i32>, tensor<32x128xf32>, tensor<32x128xf32>, tensor<128xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x4x32xf32>
    cond {
      %c_54 = stablehlo.constant dense<4> : tensor<i32>
      %68 = stablehlo.compare LT, %iterArg_47, %c_54, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %68 : tensor<i1>
    } do {
      %c_54 = stablehlo.constant dense<4> : tensor<i32>
      %68 = stablehlo.subtract %c_54, %iterArg_47 : tensor<i32>
      %c_55 = stablehlo.constant dense<1> : tensor<i32>
      %69 = stablehlo.subtract %68, %c_55 : tensor<i32>
      %70 = func.call @dynamic_index_in_dim(%iterArg, %69) : (tensor<4x4x32xf32>, tensor<i32>) -> tensor<4x32xf32>
      %71 = func.call @dynamic_index_in_dim(%iterArg_32, %69) : (tensor<4x4x32xf32>, tensor<i32>) -> tensor<4x32xf32>
      %72 = func.call @dynamic_index_in_dim(%iterArg_33, %69) : (tensor<4x4x32xf32>, tensor<i32>) -> tensor<4x32xf32>
      %73 = func.call @dynamic_index_in_dim(%iterArg_34, %69) : (tensor<4x4x32xf32>, tensor<i32>) -> tensor<4x32xf32>
      %74 = func.call @dynamic_index_in_dim(%iterArg_35, %69) : (tensor<4x4x32xf32>, tensor<i32>) -> tensor<4x32xf32>
      %75 = func.call @dynamic_index_in_dim(%iterArg_36, %69) : (tensor<4x4x32xf32>, tensor<i32>) -> tensor<4x32xf32>
      %76 = func.call @dynamic_index_in_dim(%iterArg_37, %69) : (tensor<4x4x32xf32>, tensor<i32>) -> tensor<4x32xf32>
      %77 = func.call @dynamic_index_in_dim(%iterArg_38, %69) : (tensor<4x4x32xf32>, tensor<i32>) -> tensor<4x32xf32>
      %78 = func.call @dynamic_index_in_dim(%iterArg_39, %69) : (tensor<4x4x32xf32>, tensor<i32>) -> tensor<4x32xf32>
      %79 = func.call @dynamic_index_in_dim(%iterArg_40, %69) : (tensor<4x4x32xf32>, tensor<i32>) -> tensor<4x32xf32>
      %80 = func.call @dynamic_index_in_dim(%iterArg_41, %69) : (tensor<4x4x32xf32>, tensor<i32>) -> tensor<4x32xf32>
      %81 = func.call @dynamic_index_in_dim(%iterArg_42, %69) : (tensor<4x4x32xf32>, tensor<i32>) -> tensor<4x32xf32>
      %82 = func.call @dynamic_index_in_dim(%iterArg_43, %69) : (tensor<4x4x32xf32>, tensor<i32>) -> tensor<4x32xf32>
      %83 = func.call @dynamic_index_in_dim(%iterArg_44, %69) : (tensor<4x4x32xf32>, tensor<i32>) -> tensor<4x32xf32>
      %84:6 = func.call @closed_call_2(%iterArg_45, %iterArg_46, %iterArg_48, %iterArg_49, %iterArg_50, %iterArg_51, %iterArg_52, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83) : (tensor<32x128xf32>, tensor<32x128xf32>, tensor<32x128xf32>, tensor<32x128xf32>, tensor<128xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>) -> (tensor<32x128xf32>, tensor<32x128xf32>, tensor<128xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>)
      %85 = func.call @dynamic_update_index_in_dim(%iterArg_53, %84#5, %69) : (tensor<4x4x32xf32>, tensor<4x32xf32>, tensor<i32>) -> tensor<4x4x32xf32>
      %c_56 = stablehlo.constant dense<1> : tensor<i32>
      %86 = stablehlo.add %iterArg_47, %c_56 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_32, %iterArg_33, %iterArg_34, %iterArg_35, %iterArg_36, %iterArg_37, %iterArg_38, %iterArg_39, %iterArg_40, %iterArg_41, %iterArg_42, %iterArg_43, %iterArg_44, %iterArg_45, %iterArg_46, %86, %84#0, %84#1, %84#2, %84#3, %84#4, %85 : tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<4x4x32xf32>, tensor<32x128xf32>, tensor<32x128xf32>, tensor<i32>, tensor<32x128xf32>, tensor<32x128xf32>, tensor<128xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x4x32xf32>
    }
    %50 = stablehlo.transpose %49#22, dims = [1, 0, 2] : (tensor<4x4x32xf32>) -> tensor<4x4x32xf32>
    %cst_26 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %51 = stablehlo.broadcast_in_dim %cst_26, dims = [] : (tensor<f32>) -> tensor<48x32xf32>
    %52 = "stablehlo.scatter"(%51, %6, %50) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg6: tensor<f32>, %arg7: tensor<f32>):
      %68 = stablehlo.add %arg6, %arg7 : tensor<f32>
      stablehlo.return %68 : tensor<f32>
    }) : (tensor<48x32xf32>, tensor<4x4x1xi32>, tensor<4x4x32xf32>) -> tensor<48x32xf32>
    %cst_27 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %53 = stablehlo.broadcast_in_dim %cst_27, dims = [] : (tensor<f32>) -> tensor<128xf32>
    %54 = stablehlo.multiply %53, %49#19 : tensor<128xf32>
    %55 = stablehlo.subtract %arg0, %54 : tensor<128xf32>
    %cst_28 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %56 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<48x32xf32>
    %57 = stablehlo.multiply %56, %52 : tensor<48x32xf32>
    %58 = stablehlo.subtract %arg1, %57 : tensor<48x32xf32>
    %cst_29 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %59 = stablehlo.broadcast_in_dim %cst_29, dims = [] : (tensor<f32>) -> tensor<32x48xf32>
    %60 = stablehlo.multiply %59, %40 : tensor<32x48xf32>
    %61 = stablehlo.subtract %arg2, %60 : tensor<32x48xf32>
    %cst_30 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %62 = stablehlo.broadcast_in_dim %cst_30, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %63 = stablehlo.multiply %62, %49#18 : tensor<32x128xf32>
    %64 = stablehlo.subtract %arg3, %63 : tensor<32x128xf32>
    %cst_31 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %65 = stablehlo.broadcast_in_dim %cst_31, dims = [] : (tensor<f32>) -> tensor<32x128xf32>
    %66 = stablehlo.multiply %65, %49#17 : tensor<32x128xf32>
    %67 = stablehlo.subtract %arg4, %66 : tensor<32x128xf32>
    return %55, %58, %61, %64, %67, %33 : tensor<128xf32>, tensor<48x32xf32>, tensor<32x48xf32>, tensor<32x128xf32>, tensor<32x128xf32>, tensor<f32>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<4x4x32xf32>, %arg1: tensor<i32>) -> tensor<4x32xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 4, 32] : (tensor<4x4x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x32xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x4x32xf32>) -> tensor<4x32xf32>
    return %1 : tensor<4x32xf32>
  }
  func.func private @closed_call(%arg0: tensor<32x128xf32>, %arg1: tensor<32x128xf32>, %arg2: tensor<1x128xf32>, %arg3: tensor<4x32xf32>, %arg4: tensor<4x32xf32>, %arg5: tensor<4x32xf32>) -> (tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>) {
    %0 = stablehlo.dot_general %arg5, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x32xf32>, tensor<32x128xf32>) -> tensor<4x128xf32>
    %1 = stablehlo.dot_general %arg3, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x32xf32>, tensor<32x128xf32>) -> tensor<4x128xf32>
    %2 = stablehlo.add %0, %1 : tensor<4x128xf32>
    %3 = stablehlo.broadcast_in_dim %arg2, dims = [0, 1] : (tensor<1x128xf32>) -> tensor<4x128xf32>
    %4 = stablehlo.add %2, %3 : tensor<4x128xf32>
    %5 = stablehlo.slice %4 [0:4, 0:32] : (tensor<4x128xf32>) -> tensor<4x32xf32>
    %6 = stablehlo.slice %4 [0:4, 32:64] : (tensor<4x128xf32>) -> tensor<4x32xf32>
    %7 = stablehlo.slice %4 [0:4, 64:96] : (tensor<4x128xf32>) -> tensor<4x32xf32>
    %8 = stablehlo.slice %4 [0:4, 96:128] : (tensor<4x128xf32>) -> tensor<4x32xf32>
    %9 = stablehlo.negate %6 : tensor<4x32xf32>
    %10 = stablehlo.exponential %9 : tensor<4x32xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x32xf32>
    %12 = stablehlo.add %11, %10 : tensor<4x32xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x32xf32>
    %14 = stablehlo.divide %13, %12 : tensor<4x32xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x32xf32>
    %16 = stablehlo.subtract %15, %14 : tensor<4x32xf32>
    %17 = stablehlo.multiply %14, %16 : tensor<4x32xf32>
    %18 = stablehlo.multiply %14, %arg4 : tensor<4x32xf32>
    %19 = stablehlo.negate %5 : tensor<4x32xf32>
    %20 = stablehlo.exponential %19 : tensor<4x32xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4x32xf32>
    %22 = stablehlo.add %21, %20 : tensor<4x32xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %23 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<4x32xf32>
    %24 = stablehlo.divide %23, %22 : tensor<4x32xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %25 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<4x32xf32>
    %26 = stablehlo.subtract %25, %24 : tensor<4x32xf32>
    %27 = stablehlo.multiply %24, %26 : tensor<4x32xf32>
    %28 = stablehlo.tanh %7 : tensor<4x32xf32>
    %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %29 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<4x32xf32>
    %30 = stablehlo.subtract %29, %28 : tensor<4x32xf32>
    %31 = stablehlo.multiply %24, %28 : tensor<4x32xf32>
    %32 = stablehlo.add %18, %31 : tensor<4x32xf32>
    %33 = stablehlo.negate %8 : tensor<4x32xf32>
    %34 = stablehlo.exponential %33 : tensor<4x32xf32>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %35 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<4x32xf32>
    %36 = stablehlo.add %35, %34 : tensor<4x32xf32>
    %cst_7 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %37 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<4x32xf32>
    %38 = stablehlo.divide %37, %36 : tensor<4x32xf32>
    %cst_8 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %39 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<4x32xf32>
    %40 = stablehlo.subtract %39, %38 : tensor<4x32xf32>
    %41 = stablehlo.multiply %38, %40 : tensor<4x32xf32>
    %42 = stablehlo.tanh %32 : tensor<4x32xf32>
    %cst_9 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %43 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<4x32xf32>
    %44 = stablehlo.subtract %43, %42 : tensor<4x32xf32>
    %45 = stablehlo.multiply %38, %42 : tensor<4x32xf32>
    return %45, %32, %45, %arg3, %17, %arg4, %14, %27, %28, %30, %24, %41, %42, %44, %38 : tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<4x4x32xf32>, %arg1: tensor<4x32xf32>, %arg2: tensor<i32>) -> tensor<4x4x32xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2] : (tensor<4x32xf32>) -> tensor<1x4x32xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c, %c_0 : (tensor<4x4x32xf32>, tensor<1x4x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x4x32xf32>
    return %1 : tensor<4x4x32xf32>
  }
  func.func private @log_softmax(%arg0: tensor<4x4x48xf32>) -> (tensor<4x4x48xf32>, tensor<4x4x48xf32>, tensor<4x4x1xf32>) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [2] : (tensor<4x4x48xf32>, tensor<f32>) -> tensor<4x4xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<4x4xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<4x4xf32>) -> tensor<4x4x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<4x4x1xf32>) -> tensor<4x4x48xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<4x4x48xf32>
    %6 = stablehlo.exponential %5 : tensor<4x4x48xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [2] : (tensor<4x4x48xf32>, tensor<f32>) -> tensor<4x4xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<4x4xf32>) -> tensor<4x4x1xf32>
    %9 = stablehlo.log %8 : tensor<4x4x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<4x4x1xf32>) -> tensor<4x4x48xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<4x4x48xf32>
    return %11, %6, %8 : tensor<4x4x48xf32>, tensor<4x4x48xf32>, tensor<4x4x1xf32>
  }
  func.func private @take_along_axis(%arg0: tensor<4x4x48xf32>, %arg1: tensor<4x4x1xi32>) -> (tensor<4x4x1xf32>, tensor<4x4x1x1xi32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4x4x1xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<4x4x1xi32>, tensor<4x4x1xi32>) -> tensor<4x4x1xi1>
    %c_0 = stablehlo.constant dense<48> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<4x4x1xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<4x4x1xi32>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<4x4x1xi1>, tensor<4x4x1xi32>
    %5 = stablehlo.reshape %4 : (tensor<4x4x1xi32>) -> tensor<4x4x1x1xi32>
    %c_1 = stablehlo.constant dense<47> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<4x4x1x1xi32>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<4x4x1x1xi32>, tensor<4x4x1x1xi32>) -> tensor<4x4x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %c_1, dims = [3] : (tensor<1xi32>) -> tensor<1x1x1x1xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2, 3] : (tensor<1x1x1x1xi32>) -> tensor<4x4x1x1xi32>
    %10 = stablehlo.compare LE, %5, %9, SIGNED : (tensor<4x4x1x1xi32>, tensor<4x4x1x1xi32>) -> tensor<4x4x1x1xi1>
    %11 = stablehlo.and %7, %10 : tensor<4x4x1x1xi1>
    %c_3 = stablehlo.constant dense<true> : tensor<i1>
    %12 = stablehlo.reduce(%11 init: %c_3) applies stablehlo.and across dimensions = [3] : (tensor<4x4x1x1xi1>, tensor<i1>) -> tensor<4x4x1xi1>
    %13 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 1], start_index_map = [2], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<4x4x48xf32>, tensor<4x4x1x1xi32>) -> tensor<4x4x1xf32>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x4x1xf32>
    %15 = stablehlo.select %12, %13, %14 : tensor<4x4x1xi1>, tensor<4x4x1xf32>
    return %15, %5 : tensor<4x4x1xf32>, tensor<4x4x1x1xi32>
  }
  func.func private @take_along_axis_0(%arg0: tensor<4x4x1x1xi32>, %arg1: tensor<4x4x1xf32>) -> tensor<4x4x48xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x4x48xf32>
    %1 = "stablehlo.scatter"(%0, %arg0, %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [2], input_batching_dims = [0, 1], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [2], index_vector_dim = 3>, unique_indices = false}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<4x4x48xf32>, tensor<4x4x1x1xi32>, tensor<4x4x1xf32>) -> tensor<4x4x48xf32>
    return %1 : tensor<4x4x48xf32>
  }
  func.func private @log_softmax_1(%arg0: tensor<4x4x48xf32>, %arg1: tensor<4x4x1xf32>, %arg2: tensor<4x4x48xf32>) -> tensor<4x4x48xf32> {
    %0 = stablehlo.negate %arg2 : tensor<4x4x48xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x4x48xf32>, tensor<f32>) -> tensor<4x4xf32>
    %2 = stablehlo.reshape %1 : (tensor<4x4xf32>) -> tensor<4x4x1xf32>
    %3 = stablehlo.divide %2, %arg1 : tensor<4x4x1xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.add across dimensions = [2] : (tensor<4x4x1xf32>, tensor<f32>) -> tensor<4x4xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<4x4xf32>) -> tensor<4x4x48xf32>
    %6 = stablehlo.multiply %5, %arg0 : tensor<4x4x48xf32>
    %7 = stablehlo.add %arg2, %6 : tensor<4x4x48xf32>
    return %7 : tensor<4x4x48xf32>
  }
  func.func private @closed_call_2(%arg0: tensor<32x128xf32>, %arg1: tensor<32x128xf32>, %arg2: tensor<32x128xf32>, %arg3: tensor<32x128xf32>, %arg4: tensor<128xf32>, %arg5: tensor<4x32xf32>, %arg6: tensor<4x32xf32>, %arg7: tensor<4x32xf32>, %arg8: tensor<4x32xf32>, %arg9: tensor<4x32xf32>, %arg10: tensor<4x32xf32>, %arg11: tensor<4x32xf32>, %arg12: tensor<4x32xf32>, %arg13: tensor<4x32xf32>, %arg14: tensor<4x32xf32>, %arg15: tensor<4x32xf32>, %arg16: tensor<4x32xf32>, %arg17: tensor<4x32xf32>, %arg18: tensor<4x32xf32>, %arg19: tensor<4x32xf32>, %arg20: tensor<4x32xf32>) -> (tensor<32x128xf32>, tensor<32x128xf32>, tensor<128xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>) {
    %0 = stablehlo.add %arg5, %arg7 : tensor<4x32xf32>
    %1 = stablehlo.multiply %arg20, %0 : tensor<4x32xf32>
    %2 = stablehlo.multiply %0, %arg18 : tensor<4x32xf32>
    %3 = stablehlo.multiply %1, %arg19 : tensor<4x32xf32>
    %4 = stablehlo.add %arg6, %3 : tensor<4x32xf32>
    %5 = stablehlo.multiply %3, %arg18 : tensor<4x32xf32>
    %6 = stablehlo.add %4, %5 : tensor<4x32xf32>
    %7 = stablehlo.multiply %2, %arg17 : tensor<4x32xf32>
    %8 = stablehlo.multiply %arg16, %6 : tensor<4x32xf32>
    %9 = stablehlo.multiply %6, %arg14 : tensor<4x32xf32>
    %10 = stablehlo.multiply %8, %arg15 : tensor<4x32xf32>
    %11 = stablehlo.multiply %10, %arg14 : tensor<4x32xf32>
    %12 = stablehlo.add %10, %11 : tensor<4x32xf32>
    %13 = stablehlo.multiply %9, %arg13 : tensor<4x32xf32>
    %14 = stablehlo.multiply %arg12, %6 : tensor<4x32xf32>
    %15 = stablehlo.multiply %6, %arg11 : tensor<4x32xf32>
    %16 = stablehlo.multiply %15, %arg10 : tensor<4x32xf32>
    %17 = stablehlo.concatenate %13, %16, %12, %7, dim = 1 : (tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x128xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %18 = stablehlo.reduce(%17 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<4x128xf32>, tensor<f32>) -> tensor<128xf32>
    %19 = stablehlo.reshape %18 : (tensor<128xf32>) -> tensor<1x128xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %20 = stablehlo.reduce(%19 init: %cst_0) applies stablehlo.add across dimensions = [0] : (tensor<1x128xf32>, tensor<f32>) -> tensor<128xf32>
    %21 = stablehlo.add %arg4, %20 : tensor<128xf32>
    %22 = stablehlo.dot_general %17, %arg9, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x128xf32>, tensor<4x32xf32>) -> tensor<128x32xf32>
    %23 = stablehlo.transpose %22, dims = [1, 0] : (tensor<128x32xf32>) -> tensor<32x128xf32>
    %24 = stablehlo.add %arg3, %23 : tensor<32x128xf32>
    %25 = stablehlo.dot_general %17, %arg1, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x128xf32>, tensor<32x128xf32>) -> tensor<4x32xf32>
    %26 = stablehlo.dot_general %17, %arg8, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x128xf32>, tensor<4x32xf32>) -> tensor<128x32xf32>
    %27 = stablehlo.transpose %26, dims = [1, 0] : (tensor<128x32xf32>) -> tensor<32x128xf32>
    %28 = stablehlo.add %arg2, %27 : tensor<32x128xf32>
    %29 = stablehlo.dot_general %17, %arg0, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x128xf32>, tensor<32x128xf32>) -> tensor<4x32xf32>
    return %28, %24, %21, %25, %14, %29 : tensor<32x128xf32>, tensor<32x128xf32>, tensor<128xf32>, tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>
  }
}
