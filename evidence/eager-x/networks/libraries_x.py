# SPDX-License-Identifier: Apache-2.0
"""libraries_x.py - networks of public Python libraries that no list before had, built as their users build them.

Packages: the first string of each call of `add` is a network's name, the second the module that it comes from. Their sources are unchanged.
Libraries that they import and do not need are stood for by empty ones (UNUSED); packages named in `bare` are not opened, only the modules
of them that a network imports.
"""
import abc
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import types

import torch

NETWORKS = {}
UNUSED = """
    accelerate performer_pytorch torch_max_mem torch_ppr torchinfo Bio ConfigSpace DateTime IPython SimpleITK adabelief_pytorch adam_atan2_pytorch ahocorasick aim aiohttp albumentations ale_py anndata
    antialiased_cnns anyascii ase astartes asyml_utilities audiolm_pytorch audioread autofaiss autoray av bib_lookup bidi bioframe bioimage_cpp
    bioimageio biopython biosppy bitsandbytes boto3 botocore cached_property captum catalogue catboost category_encoders cleanfid cloudpickle colorama
    coloredlogs colorlog colt5_attention comet_ml compressai configargparse coqpit coreforecast ctranslate2 cuik_molmaker cupy cv2 dac
    dataclasses_json datasets dateutil dctorch deepdiff deprecate deprecate_kwargs deprecated descriptastorus dgl diffusers dill dirsync ditk docdata
    docrep docstring_parser dotenv draccus dtaidistance edlib einx elf emoji environs evaluate fairscale fairseq faiss fastai fastcore fasteners
    fastprogress fasttext fcd_torch ffmpeg ffmpy fill_voids fiona fire flask flatten_dict ftfy funcy fvcore g2p_en gdown genomepy gensim geopandas
    google gruut gym gymnasium h5py hdf5storage hl_gauss_pytorch hnswlib holidays hydra_slayer hyperopt ignite imageio implicit importlib_metadata
    importlib_resources indicnlp inflect intervaltree iopath jams jieba jinja2 joblib jsonargparse jsonlines jsonmerge julius kornia kornia_rs
    langdetect lazy_importer lazy_loader libdf librosa lifelines lion_pytorch litdata lmdb lmfit logomaker loguru mappy markdown2 markdown_it matchms
    matplotlib matscipy mdtraj mediapipe memory_tempfile mido misaki mlflow mne mne_bids modelscope modiscolite monotonic_align monty more_click
    more_itertools mosestokenizer mp_nerf mpl_toolkits mplcursors mudata multiprocess munch musdb museval narwhals natsort naturalspeech2_pytorch
    nerfacc neurite nflows nfoursid nibabel nir nirtorch nltk norbert num2words numba numcodecs numerize nvidia_dlprof nvidia_smi nvtx ocpapi onnx
    onnxruntime open_clip openpyxl opentelemetry optuna ordered_set orjson ot overrides pandarallel pandas parasail pb_bss_eval pbr pcapng perth pesq
    pettingzoo phonemizer platformdirs plotly polars pooch portalocker pretab prettytable proDy prody properscoring psutil pulearn pyBigWig
    pyahocorasick pyarrow pybedtools pyclipper pycocotools pydantic pydantic_settings pydicom pydot pydub pyfaidx pygsp pylab pyloudnorm pymatgen pyod
    pyonmttok pypdfium2 pypinyin pyproj pysam pystow pystrum pyteomics pytest pytorch_custom_utils pytorch_msssim pytorch_ranger pytorch_warmup pytz
    pyvers pyworld pywt randomname ranger rapidfuzz rasterio ray rdkit rdt resampy rich rjieba rtree ruamel s3fs s3tokenizer sacrebleu sacremoses
    scHPL scanpy seaborn segmentation_models_pytorch selfies sensai sentencepiece shapely shortuuid sidechainnet signal_slot skimage sklearn skopt
    skorch skrub sortedcontainers soundfile sox soxr spacy sparse spdlog spectrum_utils spektral spglib statsmodels structlog subword_nmt supervision
    swifter tabix tabulate taming_main tangermeme tbats tensorboard tensorboardX tensorflow tensorflow_probability tensorrt termcolor termtables
    texttable thop tifffile tiktoken toml toolz torch_audiomentations torch_complex torch_pruning torch_runstats torch_stoi torch_tensorrt torchao
    torchaudio torchcodec torchode torchsummary torchutil toto2 trackio trainer trampoline tree treelib treetensor udtools ujson ultralytics unidecode
    urlobject utilsforecast validators vapoursynth vocos waitress wandb warp weasyprint webrtcvad wfdb wget x_clip xarray xlrd xlwt xmltodict xxhash
    yamlargparse yapecs yapf zarr zuko
""".split()


class Kind(abc.ABCMeta):
    def __getattr__(cls, name):
        return Unused.nothing(name)

    def __getitem__(cls, index):
        return cls

    def __iter__(cls):
        return iter(())


class Unused(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stands for libraries that are missing and that no network needs: for files, plots and training loops."""

    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in self.names else None

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__getattr__ = lambda name: self.nothing(name)
        module.__version__ = "99.0"
        return module

    def exec_module(self, module):
        pass

    @staticmethod
    def nothing(name):
        if name.startswith("__"):
            raise AttributeError(name)

        class Nothing(metaclass=Kind):
            """"""

            def __new__(cls, *given, **named):
                return given[0] if given and callable(given[0]) else super().__new__(cls)

            def __init__(self, *given, **named):
                pass

            def __getattr__(self, name):
                return Unused.nothing(name)

            def __call__(self, *given, **named):
                return given[0] if given and callable(given[0]) else None

            def __getitem__(self, index):
                return self

            def __iter__(self):
                return iter(())

            def __int__(self):
                return 0

        return Nothing


def is_missing(name):
    try:
        return importlib.util.find_spec(name) is None
    except (ValueError, ImportError):
        return True


finder = Unused()
finder.names = {name for name in UNUSED if is_missing(name)}


def prepare():
    """Before the first network is built, in the process that builds it: some of these ask for a GPU."""
    if finder in sys.meta_path:
        return
    for early in ("transformers.modeling_utils", "torchmetrics", "lightning.pytorch", "pytorch_lightning"):  # they look for libraries that are stood for
        try:
            importlib.import_module(early)
        except ImportError:
            pass
    for name, known in vars(sys.modules.get("transformers.utils.import_utils", types)).items():
        if name.startswith("is_") and name.endswith("_available"):
            try:
                known()  # remembers its answer
            except Exception:  # noqa: BLE001 - some take an argument
                pass
    sys.meta_path.append(finder)


def bare(*packages):
    """Packages that are not opened: only what a network imports."""
    for package in packages:
        if package not in sys.modules:
            try:
                spec = importlib.util.find_spec(package)
            except (ImportError, ValueError):
                continue
            if spec and spec.origin:
                sys.modules[package] = importlib.util.module_from_spec(spec)




class Picked(torch.nn.Module):
    """A network whose output has more members than the loss takes."""

    def __init__(self, network, pick):
        super().__init__()
        self.network, self.pick = network, pick

    def forward(self, *inputs, **named):
        return self.pick(self.network(*inputs, **named))


class Called(torch.nn.Module):
    """A network that its users call with more than tensors of a batch."""

    def __init__(self, network, call):
        super().__init__()
        self.network, self.call = network, call

    def forward(self, *inputs):
        return self.call(self.network, *inputs)


class Losing(Called):
    """A network that computes its own loss."""

    def forward(self, *inputs):
        return types.SimpleNamespace(loss=self.call(self.network, *inputs))


def first(network):
    return Picked(network, lambda output: output[0])


def losing(network, pick=lambda output: output, **named):
    return Losing(network, lambda n, *inputs: pick(n(*inputs, **named)))


def tensors(output):
    if isinstance(output, torch.Tensor):
        return [output] if output.is_floating_point() else []
    members = output.values() if isinstance(output, dict) else output if isinstance(output, (list, tuple)) else []
    return [t for member in members for t in tensors(member)]


def joined(network):
    """All outputs beside each other, as losses of several scales take them."""
    return Picked(network, lambda output: torch.cat([t.flatten(1) for t in tensors(output)], 1))


def listed(*modules):
    return torch.nn.ModuleList(modules)


def image(channels=3, size=224):
    return lambda b: torch.zeros(b, channels, size, size)


def volume(channels=1, size=64):
    return lambda b: torch.zeros(b, channels, size, size, size)


def video(frames, size, channels=3):
    return lambda b: torch.zeros(b, channels, frames, size, size)


def series(channels, length):
    return lambda b: torch.zeros(b, channels, length)


def frames(length, features):
    return lambda b: torch.zeros(b, length, features)


def tokens(length):
    return lambda b: torch.zeros(b, length, dtype=torch.int64)


def features(n):
    return lambda b: torch.zeros(b, n)


def several_of(*shapes):
    """A tensor of each shape for every sample; a shape that begins with "int" has indices."""
    return lambda b: tuple(torch.zeros(b, *s[1:], dtype=torch.int64) if s and s[0] == "int" else torch.zeros(b, *s) for s in shapes)


def add(name, where, build, inputs, loss="cross-entropy"):
    """`where` is a module; `build` makes the network from it."""
    def made():
        prepare()
        module = importlib.import_module(where)
        torch.set_default_dtype(torch.float32)  # some libraries change these when they are imported
        torch.set_grad_enabled(True)
        return build(module), inputs, loss

    NETWORKS[name] = made


def of(where):
    return importlib.import_module(where)


bare("panns_inference")

# ---- medicine and microscopes -------------------------------------------------------------------------------------


def unet_of_nnunet(kind, dims, stages, blocks, decoder, classes, most):
    name = "n_conv_per_stage" if kind == "PlainConvUNet" else "n_blocks_per_stage"
    return lambda m: getattr(m, kind)(1, stages, [min(32 * 2 ** i, most) for i in range(stages)], getattr(torch.nn, f"Conv{dims}d"), 3, [1] + [2] * (stages - 1), num_classes=classes,
        n_conv_per_stage_decoder=decoder, conv_bias=True, norm_op=getattr(torch.nn, f"InstanceNorm{dims}d"), norm_op_kwargs={"eps": 1e-5, "affine": True}, nonlin=torch.nn.LeakyReLU,
        nonlin_kwargs={"inplace": True}, **{name: blocks})


DNA = "dynamic_network_architectures.architectures.unet"
add("nnunet_plain_3d", DNA, unet_of_nnunet("PlainConvUNet", 3, 5, [2] * 5, [2] * 4, 3, 320), volume(size=64), "channels")
add("nnunet_plain_2d", DNA, unet_of_nnunet("PlainConvUNet", 2, 7, [2] * 7, [2] * 6, 3, 512), image(1, 256), "channels")
add("nnunet_residual_3d", DNA, unet_of_nnunet("ResidualEncoderUNet", 3, 5, [1, 3, 4, 6, 6], [1] * 4, 3, 320), volume(size=64), "channels")
add("wolny_unet3d", "pytorch3dunet.unet3d.model", lambda m: m.UNet3D(1, 1, final_sigmoid=True, f_maps=32, layer_order="gcr", num_levels=4), volume(size=64), "mse")
add("wolny_residual_se_unet3d", "pytorch3dunet.unet3d.model", lambda m: m.ResidualUNetSE3D(1, 2, final_sigmoid=False, f_maps=16, num_levels=4), volume(size=64), "channels")
add("careamics_unet", "careamics.models.unet", lambda m: m.UNet(conv_dims=2, num_classes=1, in_channels=1, depth=3, num_channels_init=64), image(1, 64), "mse")
add("lungmask_unet", "lungmask.resunet", lambda m: m.UNet(n_classes=3, padding=True, depth=5, up_mode="upsample", batch_norm=True, residual=False), image(1, 256), "channels")


def joined_of(output):
    return torch.cat([t.flatten(1) for t in tensors(output)], 1)


add("fastmri_unet", "fastmri.models", lambda m: m.Unet(1, 1, chans=32, num_pool_layers=4, drop_prob=0.0), image(1, 320), "mse")
add("fastmri_varnet", "fastmri.models", lambda m: Called(m.VarNet(num_cascades=4, sens_chans=4, sens_pools=3, chans=12, pools=4), lambda n, k: n(k, columns(k), num_low_frequencies=16)),
    lambda b: torch.zeros(b, 4, 128, 128, 2), "mse")


def columns(k):
    """One column of four, and 16 in the middle."""
    at = torch.arange(k.shape[3], device=k.device)
    return ((at % 4 == 0) | ((at >= 56) & (at < 72)))[None, None, None, :, None].expand(len(k), 1, 1, -1, 1)


add("torch_em_unet2d", "torch_em.model", lambda m: m.UNet2d(1, 2, depth=4, initial_features=32, final_activation="Sigmoid"), image(1, 256), "mse")
add("torch_em_anisotropic", "torch_em.model", lambda m: m.AnisotropicUNet(1, 2, [[1, 2, 2], [2, 2, 2], [2, 2, 2]], initial_features=32), volume(size=32), "mse")
add("ivadomed_unet3d", "ivadomed.models", lambda m: m.Modified3DUNet(1, 1, base_n_filter=8), volume(size=64), "mse")
add("ivadomed_countception", "ivadomed.models", lambda m: m.Countception(in_channel=3, out_channel=1), image(size=96), "mse")
add("pymic_unet2d", "pymic.net.net2d.unet2d", lambda m: m.UNet2D({"in_chns": 1, "class_num": 4, "feature_chns": [16, 32, 64, 128, 256], "dropout": [0, 0, 0.3, 0.4, 0.5], "up_mode": 2,
    "bilinear": True, "multiscale_pred": False, "deep_supervise": False}), image(1, 256), "channels")
add("pymic_coplenet", "pymic.net.net2d.cople_net", lambda m: m.COPLENet({"in_chns": 1, "class_num": 2, "feature_chns": [32, 64, 128, 256, 512], "dropout": [0.0, 0.0, 0.3, 0.4, 0.5], "up_mode": 2}), image(1, 128), "channels")

# ---- pictures -----------------------------------------------------------------------------------------------------

for name in ("efficientnet-b0", "efficientnet-b3"):
    add("luke_" + name.replace("-", "_"), "efficientnet_pytorch", lambda m, n=name: m.EfficientNet.from_name(n), image())
add("resnest50", "resnest.torch", lambda m: m.resnest50(), image())
for name in ("mixnet_m", "spnasnet_100", "efficientnet_es", "tf_efficientnet_cc_b0_4e"):
    add("gef_" + name, "geffnet", lambda m, n=name: m.create_model(n, pretrained=False), image())
add("ofa_resnet50d", "ofa.imagenet_classification.elastic_nn.networks", lambda m: m.OFAResNets(dropout_rate=0, depth_list=[0, 1, 2], expand_ratio_list=[0.2, 0.25, 0.35],
    width_mult_list=[0.65, 0.8, 1.0]), image())
add("ofa_mobilenetv3", "ofa.imagenet_classification.elastic_nn.networks", lambda m: m.OFAMobileNetV3(dropout_rate=0, width_mult=1.0, ks_list=[3, 5, 7], expand_ratio_list=[3, 4, 6],
    depth_list=[2, 3, 4]), image())
add("mit_hrnetv2", "mit_semseg.models.hrnet", lambda m: joined(m.hrnetv2(pretrained=False)), image(size=256), "mse")
add("mit_resnet50_ppm", "mit_semseg.models.models", lambda m: Called(listed(m.ResnetDilated(m.resnet.resnet50(pretrained=False), dilate_scale=8), m.PPM(num_class=150, fc_dim=2048)),
    lambda n, x: n[1](n[0](x, return_feature_maps=True))), image(size=256), "channels")
add("dinov2_vit_small", "dinov2.models.vision_transformer", lambda m: m.vit_small(patch_size=14, img_size=224, block_chunks=0), image(), "mse")
add("segformer_b0_like", "segformer_pytorch", lambda m: m.Segformer(dims=(32, 64, 160, 256), heads=(1, 2, 5, 8), num_layers=2, decoder_dim=256, num_classes=4), image(size=256), "channels")
add("hamburger", "hamburger_pytorch", lambda m: torch.nn.Sequential(torch.nn.Conv2d(3, 256, 8, 8), m.Hamburger(dim=256, n=32 * 32, ratio=8, K=6), torch.nn.Conv2d(256, 19, 1)), image(size=256), "channels")
add("hed", "controlnet_aux.hed", lambda m: joined(m.ControlNetHED_Apache2()), image(size=256), "mse")
add("pidinet", "controlnet_aux.pidi.model", lambda m: joined(m.pidinet()), image(size=256), "mse")
add("lineart", "controlnet_aux.lineart", lambda m: m.Generator(3, 1, 3), image(size=256), "mse")
add("mlsd", "controlnet_aux.mlsd.models.mbv2_mlsd_large", lambda m: m.MobileV2_MLSD_Large(), image(4, 256), "mse")
add("lpips_vgg", "lpips", lambda m: Losing(m.LPIPS(pretrained=False, net="vgg", pnet_rand=True, pnet_tune=True, verbose=False), lambda n, a, b: n(a, b).mean()),
    several_of((3, 128, 128), (3, 128, 128)), "own")
add("biggan_128", "pytorch_pretrained_biggan", lambda m: Called(m.BigGAN(m.BigGANConfig()), lambda n, z, c: n(z, c.softmax(1), 0.4)), several_of((128,), (1000,)), "mse")
add("aura_upsampler", "aura_sr", lambda m: Called(m.UnetUpsampler(dim=32, image_size=128, input_image_size=32, up_dim_mults=(1, 2, 4, 8), down_dim_mults=(4, 8), full_attn=(False, False, True, True),
    attn_depths=(1, 1, 1, 1), style_network={"dim_in": 128, "dim_out": 256, "depth": 4}), lambda n, x, z: n(x, n.style_network(z))), several_of((3, 32, 32), (128,)), "mse")
add("rife_46", "vsrife.IFNet_HDv3_v4_6", lambda m: Called(m.IFNet(1.0, False), lambda n, a, b: interpolated(n, a, b)), several_of((3, 128, 128), (3, 128, 128)), "mse")


def interpolated(n, a, b):
    h, w = a.shape[2:]
    y, x = torch.meshgrid(torch.linspace(-1, 1, h, device=a.device), torch.linspace(-1, 1, w, device=a.device), indexing="ij")
    return n(a, b, torch.full_like(a[:, :1], 0.5), torch.tensor([(w - 1) / 2, (h - 1) / 2], device=a.device), torch.stack([x, y])[None])


add("score_ncsnpp", "score_models.architectures", lambda m: Called(m.NCSNpp(channels=3, dimensions=2, nf=64, ch_mult=(1, 2, 2)), lambda n, t, x: n(t, x)), several_of((), (3, 32, 32)), "mse")
add("score_ddpm", "score_models.architectures", lambda m: Called(m.DDPM(channels=3, dimensions=2, nf=64, ch_mult=(1, 2, 2)), lambda n, t, x: n(t, x)), several_of((), (3, 32, 32)), "mse")
add("azula_unet", "azula.nn.unet", lambda m: Called(m.UNet(3, 3, mod_features=64, hid_channels=(64, 128, 256), hid_blocks=(2, 2, 2)), lambda n, x, t: n(x, t)),
    several_of((3, 64, 64), (64,)), "mse")
add("azula_vit", "azula.nn.vit", lambda m: Called(m.ViT(3, 3, mod_features=64, hid_channels=384, hid_blocks=8, attention_heads=6, spatial=2, patch_size=4), lambda n, x, t: n(x, t)),
    several_of((3, 64, 64), (64,)), "mse")
add("packed_resnet18", "torch_uncertainty.models.classification.resnet", lambda m: m.packed_resnet(in_channels=3, num_classes=10, arch=18, num_estimators=4, alpha=2, gamma=1, style="cifar"), image(size=32), "mse")
add("mimo_resnet18", "torch_uncertainty.models.classification.resnet", lambda m: Called(m.mimo_resnet(in_channels=3, num_classes=10, arch=18, num_estimators=4, style="cifar"), lambda n, x: n(x.repeat(4, 1, 1, 1))
    .unflatten(0, (4, -1)).mean(0)), image(size=32))
add("bnn_conv", "torchbnn", lambda m: torch.nn.Sequential(m.BayesConv2d(0, 0.1, in_channels=3, out_channels=64, kernel_size=3), torch.nn.ReLU(), torch.nn.MaxPool2d(2), m.BayesConv2d(0, 0.1, in_channels=64,
    out_channels=128, kernel_size=3), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten(), m.BayesLinear(0, 0.1, in_features=2048, out_features=10)), image(size=32))
add("e2cnn_c8", "e2cnn.nn", lambda m: steerable(m), image(1, 29))


def steerable(m):
    """Turns by eighths, as in the example of the library."""
    act = of("e2cnn.gspaces").Rot2dOnR2(N=8)
    first_type = m.FieldType(act, [act.trivial_repr])
    kinds = [m.FieldType(act, n * [act.regular_repr]) for n in (24, 48, 48)]
    layers = []
    for before, after, size in zip([first_type] + kinds, kinds, (7, 5, 5)):
        layers += [m.R2Conv(before, after, kernel_size=size, padding=size // 2, bias=False), m.InnerBatchNorm(after), m.ReLU(after, inplace=True), m.PointwiseAvgPoolAntialiased(after, sigma=0.66, stride=2)]
    return Called(listed(m.SequentialModule(*layers), m.GroupPooling(kinds[-1]), torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(48, 10))), lambda n, x:
        n[2](n[1](n[0](m.GeometricTensor(x, first_type))).tensor))



add("sinabs_cnn", "sinabs.layers", lambda m: Called(torch.nn.Sequential(torch.nn.Conv2d(2, 16, 3, padding=1), m.IAFSqueeze(batch_size=None, num_timesteps=10), torch.nn.AvgPool2d(2), torch.nn.Conv2d(16, 32, 3,
    padding=1), m.IAFSqueeze(num_timesteps=10), torch.nn.AvgPool2d(2), torch.nn.Flatten(), torch.nn.Linear(32 * 64, 10)), lambda n, x: n(x.flatten(0, 1)).unflatten(0, (-1, 10)).sum(1)),
    lambda b: torch.zeros(b, 10, 2, 32, 32))

# ---- sound --------------------------------------------------------------------------------------------------------

add("panns_cnn14", "panns_inference.models", lambda m: Picked(m.Cnn14(sample_rate=32000, window_size=1024, hop_size=320, mel_bins=64, fmin=50, fmax=14000, classes_num=527), lambda o: o["clipwise_output"]),
    features(64000), "mse")
add("openl3", "torchopenl3.models", lambda m: m.PytorchOpenl3(input_repr="mel128", embedding_size=512), lambda b: torch.zeros(b, 1, 48000), "mse")
add("tfc_tdf", "audio_separator.separator.uvr_lib_v5.mdxnet", lambda m: m.ConvTDFNet(**{"target_name": "vocals", "lr": 1e-4, "optimizer": "adam", "dim_c": 4, "dim_f": 1024, "dim_t": 6, "n_fft": 2048, "hop_length": 512,
    "num_blocks": 7, "l": 3, "g": 24, "k": 3, "bn": 4, "bias": False, "overlap": 0}), lambda b: torch.zeros(b, 4, 1024, 64), "mse")
add("audio_diffusion_unet", "audio_diffusion_pytorch", lambda m: Called(m.UNetV0(dim=1, in_channels=2, channels=[8, 32, 64, 128, 256, 512], factors=[1, 4, 4, 4, 2, 2], items=[1, 2, 2, 2, 2, 2],
    attentions=[0, 0, 0, 0, 1, 1], attention_heads=8, attention_features=64, use_time_conditioning=True), lambda n, x, t: n(x, t)), several_of((2, 16384), ()), "mse")
add("audio_diffusion_model", "audio_diffusion_pytorch", lambda m: losing(m.DiffusionModel(net_t=m.UNetV0, in_channels=2, channels=[8, 32, 64, 128, 256], factors=[1, 4, 4, 4, 2], items=[1, 2, 2, 2, 2],
    attentions=[0, 0, 0, 0, 1], attention_heads=8, attention_features=64, diffusion_t=m.VDiffusion, sampler_t=m.VSampler)), series(2, 16384), "own")
add("audio_autoencoder", "audio_encoders_pytorch", lambda m: m.AutoEncoder1d(in_channels=2, channels=32, multipliers=[1, 1, 2, 2], factors=[4, 4, 4], num_blocks=[2, 2, 2]), series(2, 16384), "mse")
add("oobleck", "stable_audio_tools.models.autoencoders", lambda m: torch.nn.Sequential(m.OobleckEncoder(in_channels=2, channels=32, latent_dim=64, c_mults=[1, 2, 4, 8], strides=[2, 4, 4, 8], use_snake=True),
    m.OobleckDecoder(out_channels=2, channels=32, latent_dim=64, c_mults=[1, 2, 4, 8], strides=[2, 4, 4, 8], use_snake=True)), series(2, 16384), "mse")
add("stable_audio_dit", "stable_audio_tools.models.dit", lambda m: Called(m.DiffusionTransformer(io_channels=64, embed_dim=512, depth=8, num_heads=8, cond_token_dim=256, global_cond_dim=256,
    transformer_type="continuous_transformer"), lambda n, x, t, c, g: n(x, t, cross_attn_cond=c, global_embed=g)), several_of((64, 256), (), (64, 256), (256,)), "mse")
add("diffwave", "diffwave.model", lambda m: Called(m.DiffWave(dict_of(n_mels=80, residual_layers=30, residual_channels=64, dilation_cycle_length=10, unconditional=False, noise_schedule=[0.01] * 50)), lambda n, x, s:
    n(x, s, (x[:, 0] * 0).long() + 7)), several_of((7936,), (80, 31)), "mse")
add("wavegrad", "wavegrad.model", lambda m: Called(m.WaveGrad(dict_of(n_mels=128)), lambda n, x, s, t: n(x, s, t)), several_of((7200,), (128, 24), ()), "mse")


class dict_of(dict):
    """Names as keys and as members."""

    __getattr__ = dict.get


add("resemble_denoiser", "resemble_enhance.denoiser.unet", lambda m: m.UNet(3, 3, hidden_dim=16, num_blocks=4, num_middle_blocks=2), image(3, 256), "mse")
add("penn_fcnf0", "penn.model", lambda m: m.Fcnf0(), series(1, 1024), "mse")
add("penn_crepe", "penn.model", lambda m: m.Crepe(), series(1, 1024), "mse")
add("audioseal_detector", "audioseal.models", lambda m: audioseal(m), series(1, 16000), "mse")


def audioseal(m):
    return Picked(m.AudioSealDetector(nbits=16, encoder=of("audioseal.models").SEANetEncoderKeepDimension(channels=1, dimension=128, n_filters=32, n_residual_layers=1, ratios=[8, 5, 4, 2], output_dim=32, lstm=2)), lambda o: torch.cat([t.flatten(1) for t in o], 1))


add("pyannote_pyannet", "pyannote.audio.models.segmentation.PyanNet", lambda m: pyannet(m), series(1, 32000), "mse")


def pyannet(m):
    net = m.PyanNet(sincnet={"stride": 10}, lstm={"hidden_size": 128, "num_layers": 4, "bidirectional": True, "monolithic": True, "dropout": 0.5})
    spec = of("pyannote.audio.core.task")
    net.specifications = spec.Specifications(problem=spec.Problem.MONO_LABEL_CLASSIFICATION, resolution=spec.Resolution.FRAME, duration=2.0, classes=["a", "b", "c"], powerset_max_classes=2)
    net.build()
    return net


add("s3prl_xvector", "s3prl.nn", lambda m: Losing(m.XVectorBackbone(input_size=80, output_size=1500), lambda n, x: n(x).square().mean()), frames(200, 80), "own")
add("sanm_encoder", "funasr.models.sanm.encoder", lambda m: Losing(m.SANMEncoder(input_size=560, output_size=512, attention_heads=4, linear_units=2048, num_blocks=8, input_layer="pe", kernel_size=11), lambda n, x:
    n(x, lengths(x))[0].square().mean()), frames(128, 560), "own")


def lengths(x, n=None):
    return torch.full((len(x),), n or x.shape[1], dtype=torch.int64, device=x.device)


for name, where, kind, options in [("conformer", "conformer_encoder", "ConformerEncoder", {"num_blocks": 6, "macaron_style": True, "use_cnn_module": True, "cnn_module_kernel": 31, "rel_pos_type": "latest",
                                    "pos_enc_layer_type": "rel_pos", "selfattention_layer_type": "rel_selfattn"}),
                                   ("transformer", "transformer_encoder", "TransformerEncoder", {"num_blocks": 6}),
                                   ("branchformer", "e_branchformer_encoder", "EBranchformerEncoder", {"num_blocks": 6, "cgmlp_linear_units": 1024}),
                                   ("rnn", "vgg_rnn_encoder", "VGGRNNEncoder", {"hidden_size": 320, "num_layers": 3, "output_size": 320})]:
    add("espnet_" + name, "espnet2.asr.encoder." + where, lambda m, k=kind, o=options: Losing(getattr(m, k)(input_size=80, **({"output_size": 256} | o)), lambda n, x: n(x, lengths(x))[0].square().mean()),
        frames(400, 80), "own")
add("nussl_chimera", "torch", lambda m: (lambda m: Called(listed(m.RecurrentStack(129, 300, 4, True, 0.3, "lstm"), m.Embedding(129, 600, 20, ["sigmoid", "unit_norm"], -1)),
    lambda n, x: n[1](n[0](x))))(with_windows("nussl.ml.networks.modules")), lambda b: torch.zeros(b, 100, 129, 1), "mse")


def with_windows(where):
    """SciPy moved windows that packages import from their old place."""
    s = of("scipy.signal")
    for name in ("hann", "hamming", "blackman"):
        setattr(s, name, getattr(s.windows, name))
    return of(where)


add("tortoise_diffusion", "tortoise.models.diffusion_decoder", lambda m: Called(m.DiffusionTts(model_channels=512, num_layers=6, layer_drop=0, unconditioned_percentage=0), lambda n, x, t, a, c: n(x, t,
    aligned_conditioning=a, conditioning_latent=c)), several_of((100, 256), (), (64, 512), (1024,)), "mse")
add("bark_gpt", "bark.model", lambda m: first(m.GPT(m.GPTConfig(block_size=1024, input_vocab_size=10048, output_vocab_size=10048, n_layer=6, n_head=8, n_embd=512))), tokens(256), "mse")
add("styletts_jdc", "styletts2.Utils.JDC.model", lambda m: joined(m.JDCNet(num_class=1, seq_len=192)), lambda b: torch.zeros(b, 1, 80, 192), "mse")
add("styletts_style_encoder", "styletts2.models", lambda m: m.StyleEncoder(dim_in=64, style_dim=128, max_conv_dim=512), image(1, 80), "mse")
add("styletts_mpd", "styletts2.Modules.discriminators", lambda m: Called(m.MultiPeriodDiscriminator(), lambda n, a, b: joined_of(n(a, b))), several_of((1, 8192), (1, 8192)), "mse")
add("speechtokenizer", "speechtokenizer.model", lambda m: Picked(m.SpeechTokenizer({"n_filters": 32, "strides": [8, 5, 4, 2], "dimension": 256, "semantic_dimension": 256, "bidirectional": True, "dilation_base": 2,
    "residual_kernel_size": 3, "n_residual_layers": 1, "lstm_layers": 2, "activation": "ELU", "codebook_size": 1024, "n_q": 8, "sample_rate": 16000}), lambda o: o[0]), series(1, 16000), "mse")
add("moshi_seanet", "moshi.modules.seanet", lambda m: torch.nn.Sequential(m.SEANetEncoder(channels=1, dimension=256, n_filters=32, ratios=[8, 6, 5, 4], causal=True, norm="none"), m.SEANetDecoder(channels=1,
    dimension=256, n_filters=32, ratios=[8, 6, 5, 4], causal=True, norm="none")), series(1, 15360), "mse")
add("moshi_transformer", "moshi.modules.transformer", lambda m: m.StreamingTransformer(d_model=512, num_heads=8, num_layers=6, dim_feedforward=2048, causal=True, context=250, positional_embedding="rope",
    norm="rms_norm_f32", gating="silu"), frames(256, 512), "mse")
add("silentcipher_encoder", "silentcipher.model", lambda m: Picked(m.Encoder(out_dim=32, n_layers=3, message_dim=1, message_band_size=128, n_fft=512), lambda o: o), image(1, 128), "mse")
add("nnaudio_cnn", "nnAudio.features", lambda m: torch.nn.Sequential(m.MelSpectrogram(sr=16000, n_fft=512, n_mels=64, hop_length=160, trainable_mel=True, trainable_STFT=True, verbose=False),
    torch.nn.Conv1d(64, 128, 3), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool1d(1), torch.nn.Flatten(), torch.nn.Linear(128, 35)), features(16000))
add("mossformer", "clearvoice.models.mossformer2_ss.mossformer2", lambda m: joined(m.MossFormer_MaskNet(256, 256, 4, 2)), lambda b: torch.zeros(b, 256, 500), "mse")
add("music2latent_unet", "music2latent.models", lambda m: m.Encoder(), image(2, 128), "mse")
add("gateloop", "gateloop_transformer", lambda m: m.Transformer(dim=512, num_tokens=256, depth=6, use_gate_looped_attn=True, checkpoint_gate_looped_attn=False), tokens(512))
add("voicebox", "voicebox_pytorch", lambda m: Called(m.VoiceBox(dim=512, num_cond_tokens=500, depth=4, dim_head=64, heads=8, dim_in=100, condition_on_text=True), lambda n, x, t, c: n(x, times=t, cond_token_ids=c % 500,
    cond=x)), several_of((256, 100), (), ("int", 256)), "mse")
add("e2_tts_transformer", "e2_tts_pytorch", lambda m: Called(m.Transformer(dim=512, dim_text=256, depth=6, heads=8), lambda n, x, t, c: n(x, times=t, text_embed=c)), several_of((256, 512), (), (256, 256)), "mse")
add("magvit2", "magvit2_pytorch", lambda m: losing(m.VideoTokenizer(image_size=64, init_dim=32, max_dim=256, codebook_size=1024, layers=("residual", "compress_space", ("consecutive_residual", 2), "compress_space",
    ("consecutive_residual", 2), "linear_attend_space", "compress_time", "attend_time"), use_gan=False, perceptual_loss_weight=0.0), return_loss=True, pick=lambda o: o[0]), video(9, 64), "own")

# ---- series, tables, clicks ---------------------------------------------------------------------------------------

add("darts_tcn", "darts.models.forecasting.tcn_model", lambda m: listed_blocks(m), series(8, 96), "mse")


def listed_blocks(m):
    return torch.nn.Sequential(*[m._ResidualBlock(num_filters=64, kernel_size=3, dilation_base=2, dropout=0.2, weight_norm=True, nr_blocks_below=i, num_layers=5, input_size=8, target_size=4) for i in range(5)])


add("pf_nbeats_generic", "pytorch_forecasting.models.nbeats.sub_modules", lambda m: Called(listed(*[m.NBEATSGenericBlock(units=512, thetas_dim=32, num_block_layers=4, backcast_length=96, forecast_length=24)
    for _ in range(4)]), doubly_residual), features(96), "mse")


def doubly_residual(blocks, x):
    total = 0
    for block in blocks:
        back, forecast = block(x)
        x, total = x - back, total + forecast
    return total


add("pypots_saits", "pypots.nn.modules.saits", lambda m: Called(m.BackboneSAITS(n_steps=96, n_features=36, n_layers=2, d_model=256, n_heads=4, d_k=64, d_v=64, d_ffn=512, dropout=0.1, attn_dropout=0.1), lambda n, x:
    joined_of(n(x, torch.ones_like(x))[:3])), frames(96, 36), "mse")
add("etsformer", "etsformer_pytorch", lambda m: Called(m.ETSFormer(time_features=4, model_dim=512, embed_kernel_size=3, layers=2, heads=8, K=4, dropout=0.2), lambda n, x: n(x, num_steps_forecast=32)), frames(256, 4), "mse")
for name, where, kind, options in [("dfm", "dfm", "DeepFactorizationMachineModel", {"mlp_dims": (400, 400), "dropout": 0.2}), ("xdfm", "xdfm", "ExtremeDeepFactorizationMachineModel", {"mlp_dims": (400, 400), "dropout": 0.2,
                                    "cross_layer_sizes": (100, 100)}), ("afm", "afm", "AttentionalFactorizationMachineModel", {"attn_size": 16, "dropouts": (0.2, 0.2)}),
                                   ("dcn", "dcn", "DeepCrossNetworkModel", {"num_layers": 3, "mlp_dims": (400, 400), "dropout": 0.2}), ("nfm", "nfm", "NeuralFactorizationMachineModel", {"mlp_dims": (64,), "dropouts": (0.2, 0.2)})]:
    add("torchfm_" + name, "torchfm.model." + where, lambda m, k=kind, o=options: Called(getattr(m, k)([1000] * 26, embed_dim=16, **o), lambda n, x: n(x % 1000)), tokens(26), "mse")
add("gandalf", "pytorch_tabular.models.gandalf.gandalf", lambda m: of("pytorch_tabular.models.common.layers").GatedFeatureLearningUnit(n_features_in=64, n_stages=6,
    feature_mask_function=of("pytorch_tabular.models.common.layers.activations").t_softmax, feature_sparsity=0.3, learnable_sparsity=True, dropout=0.0), features(64), "mse")
add("ctgan_generator", "ctgan.synthesizers.ctgan", lambda m: m.Generator(128, (256, 256), 160), features(128), "mse")
add("ctgan_discriminator", "ctgan.synthesizers.ctgan", lambda m: Called(m.Discriminator(160, (256, 256), pac=10), lambda n, x: n(x.flatten(1).repeat_interleave(1, 0).view(-1, 160))), lambda b: torch.zeros(b, 10, 160), "mse")
add("recbole_sasrec", "recbole.model.layers", lambda m: Called(listed(torch.nn.Embedding(3000, 64), m.TransformerEncoder(n_layers=2, n_heads=2, hidden_size=64, inner_size=256, hidden_dropout_prob=0.5, attn_dropout_prob=0.5,
    hidden_act="gelu", layer_norm_eps=1e-12)), lambda n, s: n[1](n[0](s), causal(s), output_all_encoded_layers=True)[-1] @ n[0].weight.t()), tokens(50))


def causal(s):
    return torch.triu(torch.full((s.shape[1], s.shape[1]), -10000.0, device=s.device), 1)[None, None]


add("recbole_fm_cin", "recbole.model.layers", lambda m: Called(listed(torch.nn.Embedding(5000, 16), m.BaseFactorizationMachine(reduce_sum=True), m.MLPLayers([26 * 16, 256, 256, 1], 0.1)),
    lambda n, x: (lambda e: n[1](e) + n[2](e.flatten(1)))(n[0](x % 5000))), tokens(26), "mse")
add("rectools_sasrec", "rectools.models.nn.transformers.sasrec", lambda m: Called(listed(torch.nn.Embedding(5000, 128), m.SASRecTransformerLayers(n_blocks=2, n_factors=128, n_heads=4, dropout_rate=0.2)), lambda n, s:
    n[1](n[0](s), torch.ones(*s.shape, 1, device=s.device), ~torch.ones(s.shape[1], s.shape[1], device=s.device).tril().bool(), None) @ n[0].weight.t()), tokens(100))
add("pytabkit_plr", "pytabkit.models.nn_models.rtdl_resnet", lambda m: Called(m.ResNet(d_in=64, d=192, d_hidden_factor=2.0, n_layers=4, activation="relu", normalization="batchnorm", hidden_dropout=0.2, residual_dropout=0.1,
    d_out=10, regression=False, categories=None, d_embedding=8), lambda n, x: n(x, None)), features(64))

# ---- graphs, molecules, cells, sequences of letters ---------------------------------------------------------------

add("ani_simple", "torchani.arch", lambda m: Losing(m.simple_ani(lot="wb97x-631gd", symbols=("H", "C", "N", "O"), ensemble_size=1, periodic_table_index=True), lambda n, p: n((torch.tensor([[6, 1, 1, 1, 1, 8, 1, 7]],
    device=p.device).expand(len(p), -1), p)).energies.sum()), frames(8, 3), "own")
add("e3nn_gate_points", "e3nn.nn.models.v2106.gate_points_message_passing", lambda m: Called(m.MessagePassing(irreps_node_sequence=["16x0e"] + ["16x0e + 8x1o"] * 2 + ["1x0e"], irreps_node_attr="1x0e",
    irreps_edge_attr="0e + 1o", fc_neurons=[8, 64], num_neighbors=4.0), lambda n, x, v: points(n, x, v)), several_of((16, 16), (16, 4, 3)), "mse")


def points(n, x, v):
    """Each of 16 points has four neighbours."""
    o3 = of("e3nn.o3")
    offsets = (torch.arange(len(x), device=x.device) * 16)[:, None, None]
    to = (torch.arange(16, device=x.device)[None, :, None] + offsets + torch.zeros(1, 1, 4, dtype=torch.int64, device=x.device)).flatten()
    back = ((torch.arange(16, device=x.device)[None, :, None] + torch.arange(1, 5, device=x.device)) % 16 + offsets).flatten()
    vector = v.flatten(0, 2)
    return n(x.flatten(0, 1), torch.ones(len(x) * 16, 1, device=x.device), back, to, o3.spherical_harmonics("0e + 1o", vector, True), vector.norm(dim=1, keepdim=True).expand(-1, 8))


add("chemprop_mpnn", "chemprop.nn", lambda m: Called(listed(m.BondMessagePassing(), m.MeanAggregation(), m.RegressionFFN()), chains), several_of((12, 72), (24, 14)), "mse")


def chains(n, atoms, bonds):
    """Rings of 12 atoms, each with a bond in both directions."""
    offsets = (torch.arange(len(atoms), device=atoms.device) * 12)[:, None]
    here, there = torch.arange(12, device=atoms.device)[None], (torch.arange(12, device=atoms.device)[None] + 1) % 12
    source, target = torch.cat([here + offsets, there + offsets], 1).flatten(), torch.cat([there + offsets, here + offsets], 1).flatten()
    edges = torch.arange(24, device=atoms.device)[None] + (torch.arange(len(atoms), device=atoms.device) * 24)[:, None]
    graph = types.SimpleNamespace(V=atoms.flatten(0, 1), E=bonds.flatten(0, 1), edge_index=torch.stack([source, target]), rev_edge_index=edges.roll(12, 1).flatten(),
        batch=(torch.arange(len(atoms), device=atoms.device)[:, None] + torch.zeros(1, 12, dtype=torch.int64, device=atoms.device)).flatten())
    h = n[0](graph)
    return n[2](h.view(len(atoms), 12, -1).mean(1))


for name in ("RotatE", "ComplEx", "DistMult", "ConvE"):
    add("pykeen_" + name.lower(), "pykeen.models", lambda m, n=name: Called(getattr(m, n)(triples_factory=of("pykeen.triples").CoreTriplesFactory(torch.tensor([[0, 0, 1], [14540, 236, 2]]), num_entities=14541,
        num_relations=237, **({"create_inverse_triples": True} if n == "ConvE" else {}))), lambda n, t: n.score_hrt(t % 237)), tokens(3), "mse")
add("scvi_vae", "scvi.module", lambda m: Losing(m.VAE(n_input=2000, n_batch=1, n_hidden=128, n_latent=10, n_layers=2), lambda n, x: (lambda i: n.loss({"X": x.abs(), "batch": zeros_like_rows(x), "labels": zeros_like_rows(x)}, i,
    n.generative(**n._get_generative_input({"X": x.abs(), "batch": zeros_like_rows(x), "labels": zeros_like_rows(x)}, i))).loss)(n.inference(**n._get_inference_input({"X": x.abs(), "batch": zeros_like_rows(x),
    "labels": zeros_like_rows(x)})))), features(2000), "own")


def zeros_like_rows(x):
    return torch.zeros(len(x), 1, device=x.device)


add("ablang_rep", "ablang.model", lambda m: Called(m.AbLang(args_of(initializer_range=0.02, vocab_size=24, hidden_size=768, max_position_embeddings=160, pad_token_id=21, layer_norm_eps=1e-12, hidden_dropout_prob=0.1, num_hidden_layers=6,
    num_attention_heads=12, intermediate_size=3072, attention_probs_dropout_prob=0.1, hidden_act="gelu", chunk_size_feed_forward=0, type_vocab_size=2, num_encoder_blocks=6, device="cpu")), lambda n, t: n(t % 20)), tokens(128))


def args_of(**members):
    return types.SimpleNamespace(**members)


add("bonito_crf", "bonito.nn", lambda m: torch.nn.Sequential(m.Convolution(1, 4, 5, padding=2, activation="swish"), m.Convolution(4, 16, 5, padding=2, activation="swish"), m.Convolution(16, 384, 19, stride=5, padding=9,
    activation="swish"), m.Permute([2, 0, 1]), *[m.LSTM(384, 384, reverse=i % 2 == 0) for i in range(5)], m.LinearCRFEncoder(384, 4, 4, bias=True, activation="tanh", scale=5.0, blank_score=2.0), m.Permute([1, 0, 2])),
    series(1, 2000), "mse")
add("bonito_convolutions", "bonito.nn", lambda m: torch.nn.Sequential(
    m.Convolution(1, 64, 5, padding=2, activation="swish", norm="batchnorm"), m.Convolution(64, 512, 9, stride=3, padding=4, activation="swish", norm="batchnorm"), torch.nn.AvgPool1d(4)), series(1, 2000), "mse")
add("deepsea", "selene_sdk.utils.example_model", lambda m: m.DeeperDeepSEA(1000, 919), series(4, 1000), "mse")
add("meshgraph_fno", "physicsnemo.models.fno", lambda m: m.FNO(in_channels=3, out_channels=1, decoder_layers=1, decoder_layer_size=32, dimension=2, latent_channels=32, num_fno_layers=4, num_fno_modes=12, padding=9),
    image(size=64), "mse")
add("physicsnemo_afno", "physicsnemo.models.afno", lambda m: m.AFNO(inp_shape=[128, 128], in_channels=4, out_channels=4, patch_size=[8, 8], embed_dim=256, depth=4, num_blocks=8), image(4, 128), "mse")
add("physicsnemo_unet", "physicsnemo.models.unet", lambda m: m.UNet(in_channels=1, out_channels=1, model_depth=3, feature_map_channels=[16, 16, 32, 32, 64, 64], num_conv_blocks=2), volume(size=32), "mse")
add("torchphysics_fno", "torchphysics.models.FNO", lambda m: torch.nn.Sequential(*[m._FourierLayer(32, (16, 16), linear_connection=True, skip_connection=False, bias=True) for _ in range(4)]),
    lambda b: torch.zeros(b, 64, 64, 32), "mse")
add("pina_fno", "pina.model", lambda m: m.FourierIntegralKernel(input_numb_fields=32, output_numb_fields=32, n_modes=12, dimensions=2, padding=8, n_layers=4, inner_size=32), lambda b: torch.zeros(b, 64, 64, 32), "mse")
add("pina_pirate", "pina.model", lambda m: m.PirateNet(input_dimension=2, inner_size=256, output_dimension=1, n_layers=4), features(2), "mse")
add("neurodiffeq_pinn", "neurodiffeq.networks", lambda m: Losing(m.FCNN(2, 1, hidden_units=(64, 64, 64)), lambda n, x: pinn(n, x)), features(2), "own")


def pinn(n, x):
    """The residual of a heat equation."""
    diff = of("neurodiffeq").diff
    a, t = (x[:, i:i + 1].clone().requires_grad_() for i in (0, 1))
    u = n(torch.cat([a, t], 1))
    return (diff(u, t) - 0.3 * diff(u, a, order=2)).square().mean()


add("ode_rk4", "torchdiffeq", lambda m: Called(torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.Tanh(), torch.nn.Linear(256, 64)), lambda n, x: m.odeint(lambda t, y: n(y), x, torch.linspace(0, 1, 11, device=x.device),
    method="rk4")[-1]), features(64), "mse")
add("neural_ode", "torchdyn.core", lambda m: Called(m.NeuralODE(torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.Tanh(), torch.nn.Linear(256, 64)), sensitivity="autograd", solver="rk4"), lambda n, x: n(x,
    torch.linspace(0, 1, 11, device=x.device))[1][-1]), features(64), "mse")
add("sde_euler", "torchsde", lambda m: Called(equations(m), lambda n, x: m.sdeint(n, x, torch.linspace(0, 1, 9, device=x.device), dt=0.125, method="euler")[-1]), features(32), "mse")


def equations(m):
    class Equations(torch.nn.Module):
        noise_type, sde_type = "diagonal", "ito"

        def __init__(self):
            super().__init__()
            self.drift, self.diffusion = (torch.nn.Sequential(torch.nn.Linear(32, 128), torch.nn.Softplus(), torch.nn.Linear(128, 32)) for _ in range(2))

        def f(self, t, y):
            return self.drift(y)

        def g(self, t, y):
            return self.diffusion(y).sigmoid()

    return Equations()


add("svgp", "gpytorch", lambda m: Losing(processes(m), lambda n, x, y: -m.mlls.VariationalELBO(n.likelihood, n, num_data=10000)(n(x), y)), several_of((8,), ()), "own")


def processes(m):
    class Process(m.models.ApproximateGP):
        def __init__(self):
            points_in = torch.linspace(-1, 1, 128)[:, None].repeat(1, 8)
            super().__init__(m.variational.VariationalStrategy(self, points_in, m.variational.CholeskyVariationalDistribution(128), learn_inducing_locations=True))
            self.mean, self.kernel, self.likelihood = m.means.ConstantMean(), m.kernels.ScaleKernel(m.kernels.RBFKernel()), m.likelihoods.GaussianLikelihood()

        def forward(self, x):
            return m.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    return Process()


add("sbi_resnet2d", "sbi.neural_nets.embedding_nets.resnet", lambda m: m.ResNetEmbedding2D(c_in=3, c_out=20) if hasattr(m, "ResNetEmbedding2D") else m.ResNet2D(3, 20), image(size=64), "mse")
add("sbi_causal_cnn", "sbi.neural_nets.embedding_nets", lambda m: m.CausalCNNEmbedding(input_shape=(512,), in_channels=4, output_dim=20), series(4, 512), "mse")

# ---- agents and robots --------------------------------------------------------------------------------------------

add("elegant_qnet", "elegantrl.agents.net", lambda m: m.QNetTwinDuel([256, 256], state_dim=24, action_dim=8), features(24), "mse")
add("rsl_actor", "rsl_rl.modules", lambda m: m.MLP(48, 12, [512, 256, 128], "elu"), features(48), "mse")
add("rsl_cnn", "rsl_rl.modules", lambda m: m.CNN(input_dim=(64, 64), input_channels=3, output_channels=[32, 64, 64], kernel_size=[8, 4, 3], stride=[4, 2, 1], flatten=True), image(size=64), "mse")
add("robomimic_gpt", "robomimic.models.transformers", lambda m: m.GPT_Backbone(embed_dim=512, context_length=10, attn_dropout=0.1, block_output_dropout=0.1, num_layers=6, num_heads=8, activation="gelu"), frames(10, 512), "mse")
add("robomimic_visual", "robomimic.models.base_nets", lambda m: torch.nn.Sequential(m.ResNet18Conv(input_channel=3, pretrained=False, input_coord_conv=False), m.SpatialSoftmax([512, 4, 4], num_kp=32)), image(size=128), "mse")
add("rt1_maxvit", "robotic_transformer_pytorch", lambda m: m.MaxViT(num_classes=1000, dim_conv_stem=64, dim=96, dim_head=32, depth=(2, 2, 5, 2), window_size=7, mbconv_expansion_rate=4, mbconv_shrinkage_rate=0.25,
    dropout=0.1), image())
add("sf_resnet", "sample_factory.model.encoder", lambda m: torch.nn.Sequential(torch.nn.Conv2d(3, 32, 3, 1, 1), torch.nn.MaxPool2d(3, 2, 1), m.ResBlock(args_of(nonlinearity="elu"), 32, 32), m.ResBlock(args_of(nonlinearity="elu"),
    32, 32), torch.nn.Flatten(), torch.nn.Linear(32 * 32 * 32, 512)), image(size=64), "mse")
add("sheeprl_lnorm_gru", "sheeprl.models.models", lambda m: Called(m.LayerNormGRUCell(512, 512, bias=False, batch_first=False, layer_norm_cls=torch.nn.LayerNorm, layer_norm_kw={"eps": 1e-3}), unrolled), frames(16, 512), "mse")


def unrolled(cell, x):
    h = torch.zeros_like(x[:, 0])
    for i in range(x.shape[1]):
        h = cell(x[:, i], h)
    return h


add("sheeprl_nature_cnn", "sheeprl.models.models", lambda m: m.NatureCNN(4, 512, 64), image(4, 64), "mse")

# ---- words --------------------------------------------------------------------------------------------------------

CURATED = "curated_transformers.models"


add("curated_bert", CURATED, lambda m: Called(m.BERTEncoder(m.BERTConfig(embedding_width=512, hidden_width=512, intermediate_width=2048, n_attention_heads=8, n_hidden_layers=6)), lambda n, t: n(t, of(
    "curated_transformers.layers").AttentionMask(torch.ones_like(t).bool())).last_hidden_layer_state), tokens(128), "mse")
add("curated_llama", CURATED, lambda m: Called(m.LlamaCausalLM(m.LlamaConfig(dtype=torch.float32, hidden_width=512, intermediate_width=1408, n_hidden_layers=6, n_query_heads=8, n_key_value_heads=8, n_pieces=32000)), lambda n, t: n(t, of(
    "curated_transformers.layers").AttentionMask(torch.ones_like(t).bool())).logits), tokens(256))
add("curated_gptneox", CURATED, lambda m: Called(m.GPTNeoXCausalLM(m.GPTNeoXConfig(dtype=torch.float32, hidden_width=512, intermediate_width=2048, n_hidden_layers=6, n_attention_heads=8, n_pieces=32000)), lambda n, t: n(t, of(
    "curated_transformers.layers").AttentionMask(torch.ones_like(t).bool())).logits), tokens(256))
add("pt_xlnet", "pytorch_transformers.modeling_xlnet", lambda m: first(m.XLNetLMHeadModel(m.XLNetConfig(32000, d_model=512, n_layer=6, n_head=8, d_inner=2048))), tokens(128))
add("pt_transfo_xl", "pytorch_transformers.modeling_transfo_xl", lambda m: first(m.TransfoXLModel(m.TransfoXLConfig(20000, d_model=512, d_embed=512, n_head=8, d_head=64, d_inner=2048, n_layer=6, mem_len=128, cutoffs=[2000,
    10000, 15000]))), tokens(128), "mse")
add("peft_lora_gpt2", "peft", lambda m: Losing(m.get_peft_model(of("transformers").GPT2LMHeadModel(of("transformers").GPT2Config(n_layer=6, use_cache=False)), m.LoraConfig(r=8, lora_alpha=16, lora_dropout=0.05,
    target_modules=["c_attn"], fan_in_fan_out=True, task_type="CAUSAL_LM")), lambda n, t: n(input_ids=t, labels=t).loss), tokens(256), "own")
add("peft_ia3_bert", "peft", lambda m: Losing(m.get_peft_model(of("transformers").BertForSequenceClassification(of("transformers").BertConfig(num_hidden_layers=6)), m.IA3Config(target_modules=["key", "value", "output.dense"],
    feedforward_modules=["output.dense"], task_type="SEQ_CLS")), lambda n, t: n(input_ids=t, labels=t[:, 0] % 2).loss), tokens(128), "own")
add("sockeye_transformer", "sockeye.transformer", lambda m: Losing(listed(torch.nn.Embedding(16000, 512), m.TransformerEncoder(m.TransformerConfig(model_size=512, attention_heads=8, feed_forward_num_hidden=2048, act_type="relu",
    num_layers=6, dropout_attention=0.1, dropout_act=0.1, dropout_prepost=0.1, positional_embedding_type="fixed", preprocess_sequence="n", postprocess_sequence="dr", max_seq_len_source=128, max_seq_len_target=128))),
    lambda n, t: n[1](n[0](t), lengths(t))[0].square().mean()), tokens(128), "own")
add("omninet", "omninet_pytorch", lambda m: m.OmninetCausal(dim=512, depth=6, dim_head=64, heads=8, pool_layer_tokens_every=3), frames(256, 512), "mse")
add("ponder", "ponder_transformer", lambda m: Losing(m.PonderTransformer(num_tokens=20000, dim=512, max_seq_len=256, causal=True), lambda n, t: n(t, labels=t)), tokens(256), "own")
add("bidirectional_cross", "bidirectional_cross_attention", lambda m: Called(m.BidirectionalCrossAttentionTransformer(dim=512, depth=4, context_dim=384, heads=8, dim_head=64), lambda n, a, b: joined_of(n(a, b))),
    several_of((256, 512), (128, 384)), "mse")
add("complex_transformer", "complex_valued_transformer", lambda m: Losing(m.ComplexTransformer(num_tokens=256,
    dim=256, depth=4, dim_head=64, heads=8, causal=True), lambda n, t: torch.nn.functional.cross_entropy(n(t, return_abs_logits=True).transpose(1, 2), t)), tokens(128), "own")
add("htm", "htm_pytorch", lambda m: Called(m.HTMBlock(dim=512, heads=8, topk_mems=4, mem_chunk_size=32), lambda n, q, k: n(q, k)), several_of((64, 512), (512, 512)), "mse")
add("feedback", "feedback_transformer_pytorch", lambda m: m.FeedbackTransformer(num_tokens=20000, dim=256, depth=4, seq_len=2, mem_len=64, dim_head=32, heads=8), tokens(32))
add("min_dalle_encoder", "min_dalle.models.dalle_bart_encoder", lambda m: m.DalleBartEncoder(layer_count=6, embed_count=512, attention_head_count=8, text_vocab_count=16000, text_token_count=64, glu_embed_count=1024,
    device="cpu"), tokens(64), "mse")
add("min_dalle_vqgan", "min_dalle.models.vqgan_detokenizer", lambda m: m.Decoder(), lambda b: torch.zeros(b, 256, 16, 16), "mse")
