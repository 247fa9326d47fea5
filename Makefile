# Centimani: everything a person or a machine asks of the tree. Meson and ninja do the work.
PREFIX        ?= /usr/local
FUZZ_SECONDS  ?= 600
# A folder of .onnx files to validate and time with; without it there are fewer cases.
export CENTIMANI_MODELS ?= $(abspath $(wildcard ../shared/models/onnx))
RUN_PACKAGES   = gcc libc6-dev meson ninja-build pkg-config python3 libnanopb-dev libjansson-dev libsmartcols-dev libhwloc-dev \
                 libmicrohttpd-dev libjs-chart.js
# Without libopenblas0-openmp, python3-torch would bring a BLAS that uses one thread.
TEST_PACKAGES  = $(RUN_PACKAGES) python3-onnx python3-torch python3-jsonschema python3-venv clang libclang-rt-14-dev \
                 libcmocka-dev libonnx-testdata man-db groff libopenblas0-openmp libdnnl2 openmpi-bin libturbojpeg0
# Debian's node and npm, unless another vendor's are installed: the packages of the two conflict.
WEB_PACKAGES   = chromium $(foreach program,node npm,$(if $(shell command -v $(program) 2>&1),,$(program:node=nodejs)))
# The last versions of playwright-core need a newer node than Debian's 18.
PLAYWRIGHT     = playwright-core@1.58.0
SANITIZE       = -Db_sanitize=address,undefined -Db_lundef=false
SANITIZE_RACES = -Db_sanitize=thread -Db_lundef=false
# gcc warns of what its sanitizers insert; the other two builds hold the warnings.
UNWARNED       = -Dwarning_level=0 -Dwerror=false

.PHONY: run build test browser golden accuracy bench fuzz static deb install clean help packages test-packages \
        web-packages playwright
.DEFAULT_GOAL := build

run: build               ## install what is missing, build, and run the main job
	build/centimani rank resnet50 --objective price --baseline nvidia-a100-40g
	build/centimani explain resnet50 --versus nvidia-a100-40g --batch 256 \
	    --device $$(build/centimani rank resnet50 --objective price --csv | sed -n 2p | cut -d, -f2)
	build/centimani report resnet50 -o build/resnet50.html --objective price --baseline nvidia-a100-40g
	@echo "'build/centimani serve' shows the same as a page to ask more of"

build: packages          ## build build/centimani
	@CC=gcc tools/build.sh build

test: test-packages playwright ## build with gcc, clang and the sanitizers, and run every test
	@CC=gcc tools/build.sh build
	@CC=gcc tools/build.sh build-asan -Dunit=true $(SANITIZE) -Doptimization=1 $(UNWARNED)
	@CC=clang tools/build.sh build-clang -Dfuzz=true $(SANITIZE) -Doptimization=1
	@CC=gcc TARGET='centimani tests/threads' tools/build.sh build-tsan $(SANITIZE_RACES) -Doptimization=1 $(UNWARNED)
	@python3 tests/run.py build build-asan build-clang build-tsan

golden: build            ## rewrite the expected output of tests/cli, the README and docs/ from what the program prints now
	python3 tests/cli/run.py --rewrite build/centimani tests/cli
	python3 tests/readme.py --rewrite build/centimani README.md \
	    $(addprefix docs/,tutorial.md commands.md rank.md plans.md loading.md styles.md descriptions.md)

accuracy: build          ## rewrite docs/accuracy.md: predictions against every known result
	python3 tools/accuracy.py build/centimani docs/accuracy.md

bench: build             ## time importing, memory, step times, plans and rankings, beside Python's onnx.load (CENTIMANI_MODELS: folder of .onnx files)
	build/bench/import_speed
	build/bench/memory_speed
	build/bench/predict_speed
	build/bench/plan_speed
	build/bench/rank_speed

fuzz: test-packages      ## fuzz every importer for FUZZ_SECONDS each
	@CC=clang tools/build.sh build-clang -Dfuzz=true $(SANITIZE) -Doptimization=1
	@ls build-clang/tests/fuzz_* | grep -v '\.p$$' | xargs -n 1 -P 2 tests/fuzz/run.sh $(FUZZ_SECONDS)

browser: build playwright ## the report and the page of serve in Chromium
	NODE_PATH=build/browser/node_modules node tests/browser/browser.js build/centimani docs/images

static: packages         ## build-static/centimani: one program with all its data that needs no library
	@CC=gcc TARGET=centimani tools/build.sh build-static -Dstatic=true -Dbuildtype=release
	@ls -l build-static/centimani

deb: packages            ## a Debian package in build-deb/
	@tools/packages.sh binutils
	@CC=gcc tools/build.sh build-deb --prefix=/usr --libdir=lib -Dbuildtype=release
	@tools/deb.sh build-deb build-deb

install: build           ## install program, library, header, man page and completions under PREFIX
	meson configure build -Dprefix=$(PREFIX)
	meson install -C build --quiet

clean:                   ## remove what was built
	rm -rf build build-asan build-clang build-tsan build-static build-deb

help:                    ## this list
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

packages:
	@tools/packages.sh $(RUN_PACKAGES)

test-packages:
	@tools/packages.sh $(TEST_PACKAGES)

web-packages:
	@tools/packages.sh $(WEB_PACKAGES)

playwright: web-packages
	@[ -d build/browser/node_modules/playwright-core ] || \
	    npm install --loglevel=error --no-fund --no-audit --prefix build/browser $(PLAYWRIGHT)
