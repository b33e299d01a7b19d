# -*- mode: makefile-gmake -*-
# SPDX-License-Identifier: BSD-2-Clause
#
# petscspike: the one entry point. Nothing here needs editing; `make help` lists the targets and variables.
#
# PETSC_DIR (and PETSC_ARCH) choose a PETSc 3.24 to 3.26: a build tree or a prefix install. Without PETSC_DIR,
# tools/bootstrap builds one in the user's cache folder, the first time it is needed: 3.26.1, or SPIKE_PETSC_VERSION.

NAME    := petscspike
ABI     := 0.1
VERSION := 0.1.0

.DEFAULT_GOAL := lib
.SUFFIXES:
.DELETE_ON_ERROR:
comma := ,
hash  := \#
Q     := $(if $(V),,@)

# As many jobs as the cores and the memory allow, where the caller says nothing (-jN on the command line decides)
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += $(shell SPIKE_JOBS='$(SPIKE_JOBS)' tools/jobs --make)
endif

# ---- Which PETSc -----------------------------------------------------------------------------------------------------
GOALS := $(filter-out help format checkformat checkevidence docs checkdocs clean,$(or $(MAKECMDGOALS),lib))
$(if $(SANITIZE),$(if $(filter bundle,$(GOALS)),$(error make bundle: not with SANITIZE, whose build lacks faults)))
ifneq ($(GOALS),)
ifeq ($(PETSC_DIR),)
  # The caller's PETSC_ARCH belongs to no PETSC_DIR then; info only looks
  OURVARS := $(foreach v,$(filter SPIKE_%,$(.VARIABLES)),$(if $(filter command%,$(origin $(v))),$(v)='$($(v))'))
  BOOTSTRAPPED := $(shell $(OURVARS) tools/bootstrap $(if $(filter-out info,$(GOALS)),,--print) \
    $(if $(filter-out demo bench,$(GOALS)),,--pictures))
  override PETSC_DIR  := $(patsubst PETSC_DIR=%,%,$(filter PETSC_DIR=%,$(BOOTSTRAPPED)))
  override PETSC_ARCH := $(patsubst PETSC_ARCH=%,%,$(filter PETSC_ARCH=%,$(BOOTSTRAPPED)))
  SPIKE_VENV := $(patsubst SPIKE_VENV=%,%,$(filter SPIKE_VENV=%,$(BOOTSTRAPPED)))
  ifeq ($(PETSC_DIR),)
    $(error no PETSc to build with: see the text above)
  endif
endif
override PETSC_DIR := $(abspath $(PETSC_DIR))
ifneq ($(shell SPIKE_PETSC_VERSION='$(SPIKE_PETSC_VERSION)' tools/checkpetsc "$(PETSC_DIR)" "$(PETSC_ARCH)"),ok)
  $(error petscspike cannot be built with this PETSc: see the text above)
endif
include $(PETSC_DIR)/lib/petsc/conf/variables
PETSCVARS := $(PETSC_DIR)/$(if $(PETSC_ARCH),$(PETSC_ARCH)/)lib/petsc/conf/petscvariables
PETSCINC  := $(PETSC_DIR)/include
petscversion = $(shell sed -n 's/^\#define PETSC_VERSION_$(1)  *\([0-9]*\).*/\1/p' $(PETSCINC)/petscversion.h)
PETSCMINOR = $(call petscversion,MINOR)
PETSCVERSION = $(call petscversion,MAJOR).$(PETSCMINOR).$(call petscversion,SUBMINOR)
PETSCCONF := $(PETSC_DIR)/$(if $(PETSC_ARCH),$(PETSC_ARCH)/)include/petscconf.h
endif

# ---- What is built, and where ----------------------------------------------------------------------------------------
# SANITIZE=1 builds everything once more, apart, under AddressSanitizer and UBSan
BASE   := $(if $(PETSC_ARCH),$(PETSC_ARCH),build)
BUILD  := $(BASE)$(if $(SANITIZE),/sanitize)
OBJDIR := $(BUILD)/obj
LIBDIR := $(BUILD)/lib
BINDIR := $(BUILD)/bin
prefix ?= /usr/local

SL_LINKER_SUFFIX ?= so
so      := $(LIBDIR)/lib$(NAME).$(SL_LINKER_SUFFIX)
soname  := $(so).$(ABI)
sofile  := $(so).$(VERSION)
# A package that cannot hold links (python/spikebuild.py) has the library under its plain name, and beside libpetsc
SONAME  := $(notdir $(soname))
PETSC_RPATH :=
private := $(LIBDIR)/lib$(NAME)_private.a

ISA    := $(wildcard src/kernels/*/host/*_isa.c)
SRC.c  := $(filter-out $(ISA),$(sort $(wildcard src/*.c src/*/*.c src/*/*/*.c src/*/*/*/*.c)))
# A PETSc without CUDA may leave an nvcc that it has seen in CUDAC
havecuda = $(shell grep -q '^ *$(hash) *define  *PETSC_HAVE_CUDA  *1' $(PETSCCONF) && echo yes)
CUDA   := $(if $(PETSCCONF),$(if $(CUDAC),$(havecuda)))
SRC.cu := $(if $(CUDA),$(sort $(wildcard src/kernels/*/cuda/*.cu)))

# ---- Flags -----------------------------------------------------------------------------------------------------------
# *_isa.c are compiled for the baseline and, where the compiler targets x86-64, for its levels 3 and 4; the best one is
# chosen at run time, so the library runs on every processor of its kind. Never -march=native. probe.mk says what the
# compiler can do.
ISA_FLAGS.v3 := -march=x86-64-v3
ISA_FLAGS.v4 := -march=x86-64-v4
ifneq ($(GOALS),)
-include $(BUILD)/probe.mk
endif
ISA_LEVELS ?= base
ISA_DEFINE := $(if $(filter v4,$(ISA_LEVELS)),-DSPIKE_HAVE_X86_64_LEVELS)
CUDA_DEFINE := $(if $(SRC.cu),-DSPIKE_HAVE_CUDA)

# Machine code for each CUDA_ARCH (by default those of this PETSc, else 90), and PTX of the last for later GPUs
CUDA_ARCH  ?= $(or $(patsubst code=sm_%,%,$(filter code=sm_%,$(subst $(comma), ,$(CUDAC_FLAGS)))),90)
ptx         = compute_$(lastword $(CUDA_ARCH))
gencode     = $(foreach a,$(CUDA_ARCH),-gencode arch=compute_$(a),code=sm_$(a)) -gencode arch=$(ptx),code=$(ptx)
# How the compiler packs GPU code, where it can choose: speed, or size, a quarter of the space. A process unpacks what
# it uses, and a first PCSPIKE takes 1 to 6 ms more with size (benchmarks/results/firstsetup-cuda.txt)
CUDA_COMPRESS ?= speed
# CUDA_COMPILE=fast: to see that all of it compiles and links; a third of the time, and kernels that nobody wants to run
nvcchelp  := $(if $(SRC.cu),$(shell $(CUDAC) --help 2>/dev/null))
nvccflags := $(if $(findstring compress-mode,$(nvcchelp)),-compress-mode=$(CUDA_COMPRESS)) \
  $(if $(filter fast,$(CUDA_COMPILE)),$(if $(findstring Ofast-compile,$(nvcchelp)),--Ofast-compile=max))
# PETSc's header brings thrust's complex numbers, four seconds of each file, to those who do not say that they want none
nocomplex := $(if $(SRC.cu),$(shell grep -q 'PETSC_USE_COMPLEX 1' $(PETSCCONF) || echo -DPETSC_SKIP_COMPLEX=1))
OUR_CUDAC_FLAGS = $(filter-out -gencode arch=compute_% -arch=% -O%,$(CUDAC_FLAGS)) $(gencode) -O3 $(nvccflags) \
  $(nocomplex) -Werror cross-execution-space-call

SPIKE_INC := -I$(CURDIR)/include
OUR_INC    = $(SPIKE_INC) -I$(CURDIR)/src
SAN_FLAGS := $(if $(SANITIZE),-fsanitize=address$(comma)undefined -fno-sanitize-recover=undefined \
  -fno-omit-frame-pointer -g)
COMPILE.c  = $(PCC) -c $(PCC_FLAGS) $(OPT) $(SAN_FLAGS) $(CFLAGS) $(ISA_DEFINE) $(CUDA_DEFINE) $(OUR_INC) \
  $(CCPPFLAGS) -MMD -MP
COMPILE.cu = $(CUDAC) -c $(MPICXX_INCLUDES) $(OUR_CUDAC_FLAGS) $(CUDAFLAGS) $(CUDACPPFLAGS) $(OUR_INC) \
  $(CUDA_DEPFLAGS) --compiler-options="$(CXXCPPFLAGS) $(CUDA_CXXFLAGS)"
PROGRAM.c  = $(PCC) $(PCC_FLAGS) $(OPT) $(SAN_FLAGS) $(CFLAGS) $(ISA_DEFINE) $(SPIKE_INC) $(CCPPFLAGS) \
  -MMD -MP -MF $@.d -Wl,--as-needed
LINK.so    = $(CLINKER) $(SAN_FLAGS) -shared -Wl,--as-needed -Wl,-soname,$(SONAME) -Wl,-rpath,'$$ORIGIN'
# Where it looks for libpetsc: the folder of this PETSc, or PETSC_RPATH in its place
rpath     := -Wl$(comma)-rpath$(comma)
PETSC_LIB.so = $(patsubst $(rpath)$(PETSC_DIR)/lib,$(rpath)$(or $(PETSC_RPATH:%='%'),$(PETSC_DIR)/lib),$(PETSC_LIB))
LINK.spike = -Wl,-rpath,$(abspath $(LIBDIR)) -L$(LIBDIR) -l$(NAME) $(PETSC_LIB)

# What takes longest to compile comes first, so that no core waits for it at the end
OBJ := $(foreach f,$(ISA),$(ISA_LEVELS:%=$(OBJDIR)/$(f:.c=).%.o)) $(SRC.cu:%.cu=$(BASE)/obj/%.cu.o) \
  $(SRC.c:%.c=$(OBJDIR)/%.o)

ifneq ($(filter-out info,$(GOALS)),)
# Everything is rebuilt when the PETSc behind PETSC_DIR or the flags change: their text is in a file that only changes
# with them
quote = '$(subst ','\'',$(1))'
keep  = $(shell mkdir -p $(dir $(1)) && { printf '%s\n' $(2) | cmp -s - $(1) || printf '%s\n' $(2) >$(1); })
$(call keep,$(BASE)/.gitignore,'*')
$(call keep,$(BUILD)/flags,$(call quote,$(PETSC_DIR) $(COMPILE.c) $(PETSC_LIB)))
$(if $(CUDA),$(call keep,$(BASE)/cudaflags,$(call quote,$(PETSC_DIR) $(COMPILE.cu))))
endif

# ---- The library -----------------------------------------------------------------------------------------------------
.PHONY: lib
lib: $(so)

$(BUILD)/probe.mk: $(PETSCVARS)
	@mkdir -p $(@D)
	@probe() { echo 'int probe;' | $(PCC) "$$@" -x c -c -o $@.o - 2>/dev/null; }; \
	if probe $(ISA_FLAGS.v3) && probe $(ISA_FLAGS.v4); then \
	  echo 'ISA_LEVELS := base v3 v4'; \
	  if probe $(ISA_FLAGS.v4) -mprefer-vector-width=512; then echo 'ISA_FLAGS.v4 += -mprefer-vector-width=512'; fi; \
	else echo 'ISA_LEVELS := base'; fi >$@.tmp; rm -f $@.o; mv $@.tmp $@

# Kernels are fast in a PETSc with debugging too; sanitized code need not be. With a PETSc without optimization all of
# this library has it
OPT := $(if $(SANITIZE),-O1,$(if $(findstring -unopt-,$(PETSC_ARCH)),-O2))
$(OBJDIR)/src/kernels/%: OPT := $(if $(SANITIZE),-O1,-O3)
# Where there are loops for newer processors, those for the oldest need not be the fastest
$(OBJDIR)/src/kernels/%_isa.base.o: OPT := $(if $(SANITIZE),-O1,$(if $(filter v3,$(ISA_LEVELS)),-O2,-O3))

$(OBJDIR)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(if $(Q),@echo "     CC $<")
	$(Q)$(COMPILE.c) -o $@ $<

define ISA_RULE
$(OBJDIR)/%_isa.$(1).o: %_isa.c $(BUILD)/flags
	@mkdir -p $$(@D)
	$$(if $$(Q),@echo "     CC $$< ($(1))")
	$$(Q)$$(COMPILE.c) $$(ISA_FLAGS.$(1)) -DSPIKE_ISA=$(1) -o $$@ $$<
endef
$(foreach level,base v3 v4,$(eval $(call ISA_RULE,$(level))))

# Formulas of the Krylov methods are to have the same bits in each kernel that has them: fma() where it is written, and
# nowhere else
$(BASE)/obj/src/kernels/krylov/cuda/%.cu.o: FMAD := -fmad=false

# The sanitizers are for host code: both builds share these
$(BASE)/obj/%.cu.o: %.cu $(BASE)/cudaflags
	@mkdir -p $(@D)
	$(if $(Q),@echo "   CUDA $<")
	$(Q)$(COMPILE.cu) $(FMAD) -o $@ $<

$(sofile): $(OBJ)
	@mkdir -p $(@D)
	$(if $(Q),@echo "   LINK $@")
	$(Q)$(LINK.so) -o $@ $(OBJ) $(PETSC_LIB.so)
	@ln -sf $(notdir $(sofile)) $(soname)
$(so): $(sofile)
	@ln -sf $(notdir $(soname)) $@

# Kernels are hidden symbols: their tests, and benchmarks that call them, link the objects
$(private): $(OBJ)
	@mkdir -p $(@D)
	@$(RM) $@
	@$(AR) cr $@ $(OBJ)

# ---- Programs --------------------------------------------------------------------------------------------------------
KERNELTESTS := $(patsubst %.c,$(BINDIR)/%,$(sort $(wildcard tests/kernels/*.c)))
CUDATESTS   := $(if $(SRC.cu),$(patsubst %.cu,$(BINDIR)/%,$(sort $(wildcard tests/kernels/*.cu))))
# What calls MAGMA, whose headers, in C++, and libraries are in include, sparse/include and lib of MAGMA_DIR
MAGMA       := $(BINDIR)/benchmarks/idrmagma
ONEFILE     := $(filter-out $(if $(and $(MAGMA_DIR),$(CUDA)),,$(MAGMA)),\
  $(patsubst %.c,$(BINDIR)/%,$(sort $(wildcard benchmarks/*.c))))
INNER       := $(patsubst %,$(BINDIR)/benchmarks/%,band blockilu gbcgablation idr matching)
OUTER       := $(filter-out $(INNER),$(ONEFILE))
# A benchmark in a folder has a file of its name there, and what needs a GPU in a folder cuda
FOLDERS     := $(foreach d,$(notdir $(wildcard benchmarks/*)),$(if $(wildcard benchmarks/$(d)/$(d).c),$(d)))
BENCHMARKS  := $(ONEFILE) $(FOLDERS:%=$(BINDIR)/benchmarks/%)
TUTORIALS   := $(patsubst %.c,$(BINDIR)/%,$(sort $(wildcard tutorials/*.c)))
PETSCTESTS  := $(patsubst %.c,$(BINDIR)/%,$(sort $(wildcard tests/*.c)))

$(KERNELTESTS) $(INNER): $(BINDIR)/%: %.c $(private)
	@mkdir -p $(@D)
	$(if $(Q),@echo "     CC $<")
	$(Q)$(PROGRAM.c) $(CUDA_DEFINE) -I$(CURDIR)/src -o $@ $< $(private) $(PETSC_LIB)

parts = $(patsubst %.c,$(OBJDIR)/%.o,\
  $(sort $(wildcard benchmarks/$(1)/*.c) $(if $(SRC.cu),$(wildcard benchmarks/$(1)/cuda/*.c)))) \
  $(if $(SRC.cu),$(patsubst %.cu,$(BASE)/obj/%.cu.o,$(sort $(wildcard benchmarks/$(1)/cuda/*.cu))))
define FOLDER_RULE
$(BINDIR)/benchmarks/$(1): $(call parts,$(1)) $(private)
	@mkdir -p $$(@D)
	$$(if $$(Q),@echo "   LINK $$@")
	$$(Q)$$(CLINKER) $$(SAN_FLAGS) -Wl,--as-needed -o $$@ $$^ $$(PETSC_LIB)
endef
$(foreach folder,$(FOLDERS),$(eval $(call FOLDER_RULE,$(folder))))

$(BINDIR)/tests/kernels/cudatridiagonal: $(wildcard benchmarks/tridiagonal/cuda/once.*)
$(CUDATESTS): $(BINDIR)/%: %.cu $(private) $(BASE)/cudaflags
	@mkdir -p $(@D)
	$(if $(Q),@echo "   CUDA $<")
	$(Q)$(COMPILE.cu) $(if $(CUDA_DEPFLAGS),-MT $@) -o $@.o $<
	$(Q)$(CLINKER) $(SAN_FLAGS) -Wl,--as-needed -o $@ $@.o $(private) $(PETSC_LIB)
	@$(RM) $@.o

$(OUTER): INNER.c = $(CUDA_DEFINE) -I$(CURDIR)/src
magmalib := $(abspath $(MAGMA_DIR))/lib
$(MAGMA): INNER.c += -x c++ -DADD_ $(patsubst -I%,-isystem %,$(CUDA_INCLUDE)) \
  $(addprefix -isystem $(abspath $(MAGMA_DIR))/,include sparse/include)
$(MAGMA): LINK.spike += -L$(magmalib) -Wl,-rpath,$(magmalib) -lmagma_sparse -lmagma
$(OUTER) $(TUTORIALS) $(PETSCTESTS): $(BINDIR)/%: %.c $(so)
	@mkdir -p $(@D)
	$(if $(Q),@echo "     CC $<")
	$(Q)$(PROGRAM.c) $(INNER.c) -o $@ $< $(LINK.spike)

-include $(OBJ:.o=.d) $(addsuffix .d,$(KERNELTESTS) $(CUDATESTS) $(ONEFILE) $(TUTORIALS) $(PETSCTESTS))
-include $(foreach folder,$(FOLDERS),$(patsubst %.o,%.d,$(call parts,$(folder))))

# Programs and libraries for tests/loading.sh: the same program with and without our library, and libraries built for
# another PETSc
LOADING   := $(BUILD)/loading
ALIEN     := version scalar real int
LOADPROGS := $(LOADING)/plain $(LOADING)/linked
LOADLIBS  := $(ALIEN:%=$(LOADING)/%/lib$(NAME).$(SL_LINKER_SUFFIX))

$(LOADING)/plain: tests/loading/solve.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(if $(Q),@echo "     CC $< (plain)")
	$(Q)$(PROGRAM.c) -o $@ $< $(PETSC_LIB)
$(LOADING)/linked: tests/loading/solve.c $(so)
	@mkdir -p $(@D)
	$(if $(Q),@echo "     CC $< (linked)")
	$(Q)$(PROGRAM.c) -DLINKED -o $@ $< $(LINK.spike)
$(LOADLIBS): $(LOADING)/%/lib$(NAME).$(SL_LINKER_SUFFIX): tools/alienpetsc $(sofile)
	@mkdir -p $(@D)
	$(if $(Q),@echo "     CC src/common/petsccheck.c (for a PETSc of another $*)")
	$(Q)tools/alienpetsc $* $(PETSCINC)/petscversion.h $(PETSCCONF) $(@D)/include
	$(Q)$(PCC) -c $(PCC_FLAGS) $(SAN_FLAGS) $(CFLAGS) $(ISA_DEFINE) -I$(@D)/include $(OUR_INC) $(CCPPFLAGS) \
	  -o $(@D)/petsccheck.o src/common/petsccheck.c
	$(Q)$(LINK.so) -o $@ $(@D)/petsccheck.o $(filter-out %/src/common/petsccheck.o,$(OBJ)) $(PETSC_LIB)

# The library for tests/faults.sh: the files that have deliberate faults are compiled again with
# them: src/common/fault.h
FAULTS   := $(BUILD)/faults
FAULTSRC := $(shell grep -l -E 'SpikeFaulty|SpikeTestFault' $(SRC.c))
FAULTOBJ := $(FAULTSRC:%.c=$(FAULTS)/%.o)
FAULTLIB := $(if $(SANITIZE),,$(FAULTS)/lib$(NAME).$(SL_LINKER_SUFFIX))

$(FAULTOBJ): $(FAULTS)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(if $(Q),@echo "     CC $< (with faults)")
	$(Q)$(COMPILE.c) -DSPIKE_TEST_FAULTS -o $@ $<
$(FAULTS)/lib$(NAME).$(SL_LINKER_SUFFIX): $(FAULTOBJ) $(sofile)
	$(if $(Q),@echo "   LINK $@")
	$(Q)$(LINK.so) -o $@ $(FAULTOBJ) $(filter-out $(FAULTSRC:%.c=$(OBJDIR)/%.o),$(OBJ)) $(PETSC_LIB)
-include $(FAULTOBJ:.o=.d)

# What makes a GPU a smaller one for tests/device.sh
LIMITS := $(if $(CUDA),$(BUILD)/device/liblimits.so)
$(BUILD)/device/liblimits.so: tests/device/limits.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(if $(Q),@echo "     CC $<")
	$(Q)$(PCC) $(PCC_FLAGS) $(CCPPFLAGS) -fvisibility=default -shared -o $@ $< -ldl

# What keeps a GPU busy beside the program under test
BUSY := $(if $(SRC.cu),$(BUILD)/device/libbusy.so)
$(BUILD)/device/libbusy.so: tests/device/busy.cu $(BASE)/cudaflags
	@mkdir -p $(@D)
	$(if $(Q),@echo "   CUDA $<")
	$(Q)$(COMPILE.cu) -o $@.o $<
	$(Q)$(PCC) $(PCC_FLAGS) -shared -o $@ $@.o $(PETSC_LIB)
	@$(RM) $@.o $@.d

# ---- Tests -----------------------------------------------------------------------------------------------------------
# tools/gentests makes a script of each TEST block in tests and tutorials, with PETSc's generator
SPIKE_MATRICES ?= $(abspath $(wildcard $(CURDIR)/../shared/matrices))
HARNESS  := $(abspath $(BUILD))/harness
TESTDIR  := $(HARNESS)/tests
JOBS     ?= $(shell n=$$(nproc 2>/dev/null || echo 2); [ $$n -le 8 ] || n=8; echo $$n)

ifneq ($(filter check checkdevice test testprograms gpucheck gpusanitize bundle,$(GOALS)),)
include $(HARNESS)/sources.mk
endif
# The folders are prerequisites too: a file may go
TESTFILES := $(wildcard $(foreach d,tests tutorials,$(d) $(d)/*.c $(d)/output $(d)/output/*))
$(HARNESS)/sources.mk: tools/gentests $(TESTFILES) $(PETSCVARS)
	@tools/gentests $(HARNESS) $(PETSC_DIR) '$(PETSC_ARCH)' '$(PYTHON)' $(if $(SANITIZE),3)
	@sed 's/^/TESTSRC += /' $(HARNESS)/sources >$@

TESTEXE := $(TESTSRC:%.c=$(TESTDIR)/%)
$(TESTEXE): $(TESTDIR)/spike/%: $(BINDIR)/%
	@mkdir -p $(@D); ln -sf $(abspath $<) $@

# Python of the tools, and whether it is the oldest one that they know or a later one
PYTHON3   := $(if $(SPIKE_VENV),$(SPIKE_VENV)/bin/python,python3)
NEWENOUGH := -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null

RUNENV := SPIKE_MATRICES='$(SPIKE_MATRICES)' SPIKE_BUILD='$(abspath $(BUILD))' SPIKE_LIB='$(abspath $(so))' \
  SPIKE_VENV='$(SPIKE_VENV)' PETSC_DIR='$(PETSC_DIR)' PETSC_ARCH='$(PETSC_ARCH)' MPIEXEC='$(MPIEXEC)' \
  SPIKE_CC='$(PCC)' SPIKE_CFLAGS='$(SAN_FLAGS)' SPIKE_HAVE_CUDA='$(if $(CUDA),1)' \
  $(if $(SANITIZE),SPIKE_SUPPRESSIONS='$(CURDIR)/tools')
LIMIT  := $(if $(SANITIZE),-t 900)

# Python, and programs that nobody here wrote; they say what they skip
CONSUMERS := $(foreach s,python consumers clients dmdatutorials papers,$(s):tests/$(s).sh)

.PHONY: testprograms check checkdevice test
testprograms: $(so) $(TESTEXE) $(KERNELTESTS) $(CUDATESTS) $(LOADPROGS) $(LOADLIBS) $(FAULTLIB) $(LIMITS) $(BUSY)

check: testprograms $(if $(SANITIZE),,$(LOADING)/dmdatutorials/prepared)
	@$(MAKE) -s --no-print-directory install DESTDIR= prefix=$(abspath $(LOADING))/installed >/dev/null
	@$(MAKE) -s --no-print-directory install DESTDIR=$(abspath $(LOADING))/staged prefix=/opt/$(NAME) >/dev/null
	@$(RUNENV) tools/check -j $(JOBS) $(LIMIT) -o $(BUILD)/check loading:tests/loading.sh \
	  $(if $(SANITIZE),,faults:tests/faults.sh memory:tests/memory_ranks.sh) $(CONSUMERS) \
	  tools:tools/testtools programs:$(BINDIR)/tests/kernels petsc:$(TESTDIR)

# What a PETSc with a device changes on a machine without one: loading, and the tests of what knows about devices
DEVICETESTS := @(device|dia|baij|gridstencil|nosync|composition|interface|ksp_fused)
checkdevice: testprograms
	@$(MAKE) -s --no-print-directory install DESTDIR= prefix=$(abspath $(LOADING))/installed >/dev/null
	@$(RUNENV) tools/check -j $(JOBS) $(LIMIT) -g '$(DEVICETESTS)' -o $(BUILD)/check \
	  loading:tests/loading.sh programs:$(BINDIR)/tests/kernels petsc:$(TESTDIR)

test: $(so) $(TESTEXE)
	@$(RUNENV) tools/check -j $(JOBS) $(LIMIT) -g '$(or $(gs),$(search))' -o $(BUILD)/check petsc:$(TESTDIR)

# What tests/clients.sh skips otherwise: SLEPc and petsc4py's own tests, for the Python of this PETSc
.PHONY: clients
clients:
	@PETSC_DIR='$(PETSC_DIR)' PETSC_ARCH='$(PETSC_ARCH)' tools/clients '$(SPIKE_VENV)'

# make fuzz [n=100000] [seed=1] [args=-fuzz_device]: random cases, on 1 to 5 ranks, with options for all of them; a
# failure prints the command that repeats it, and the other programs run all the same. What each prints stays in a file
# of $(BUILD)/fuzz. MATBAIJCUDA is on the host too where not all is on a device
FUZZ := $(patsubst %.c,$(BINDIR)/%,$(sort $(wildcard tests/fuzz_*.c)))
.PHONY: fuzz
fuzz: HOSTED := $(if $(findstring -fuzz_device,$(args)),,-spike_host_baijcuda)
fuzz: $(FUZZ)
	@mkdir -p $(BUILD)/fuzz; bad=; for p in $(FUZZ); do for ranks in 1 2 3 4 5; do \
	  echo "$$p on $$ranks ranks"; log=$(BUILD)/fuzz/$$(basename $$p)-$$ranks.log; \
	  $(RUNENV) tools/run -n $$ranks $$p -n $(or $(n),1000) -seed $(or $(seed),1) $(HOSTED) $(args) >$$log 2>&1; rc=$$?; \
	  cat $$log; \
	  [ $$rc = 0 ] && grep -q ': ok$$' $$log || bad="$$bad $$(basename $$p)($$ranks)"; done; done; \
	  [ -z "$$bad" ] || { echo "Failed, on how many ranks:$$bad"; exit 1; }

# make dmdatutorials [type=dia] [args="-g snes"]: PETSc's own tutorials that have a DMDA, with our matrix; type=none
# only compiles them
type ?= dia
DMDACC := SPIKE_CC='$(PCC) $(PCC_FLAGS) -w $(CCPPFLAGS)' SPIKE_LINK='$(PETSC_LIB)'
.PHONY: dmdatutorials
dmdatutorials: $(so)
	@$(RUNENV) $(DMDACC) tools/dmdatutorials prepare $(BUILD)/dmdatutorials
	@$(if $(filter none,$(type)),,$(RUNENV) tools/dmdatutorials run $(BUILD)/dmdatutorials $(type) -j $(JOBS) $(args))

# Quick ones of them are a part of make check: tests/dmdatutorials.sh
QUICK := ^(ksp/ex29_[1-46]|ksp/ex45_[12]|ksp/ex49_[1-35]|snes/ex5_[12]|snes/ex19_[68]|ts/ex7_[12]|ts/ex9_[1-3])$$
$(LOADING)/dmdatutorials/prepared: tools/dmdatutorials $(BUILD)/flags
	@rm -rf $(@D) && mkdir -p $(@D)
	@if python3 $(NEWENOUGH); then $(RUNENV) $(DMDACC) tools/dmdatutorials prepare $(@D) '$(QUICK)'; \
	else echo "Without Python 3.8 or later PETSc's tutorials are not compiled"; fi
	@touch $@

# ---- The main job, benchmarks, GPU -----------------------------------------------------------------------------------
.PHONY: demo programs bench gpucheck
programs: $(TUTORIALS) $(BENCHMARKS)

# make demo [args="-f matrix.mtx ..."]
demo: $(BINDIR)/tutorials/compare
	@$(RUNENV) PYTHON3='$(PYTHON3)' tools/demo $(BINDIR)/tutorials/compare $(args)

# make bench [name=band] [args="..."]; name=paper-000: the tables and figures of a paper, which need tutorials too
bench: $(if $(name),$(filter %/benchmarks/$(name),$(BENCHMARKS)),$(BENCHMARKS))
bench: $(if $(filter paper-%,$(name)),$(BENCHMARKS) $(TUTORIALS))
	@$(RUNENV) PYTHON3='$(PYTHON3)' tools/bench $(BINDIR)/benchmarks '$(name)' $(args)

gpucheck: testprograms
	@$(RUNENV) tools/gpucheck -j $(JOBS) $(if $(MPS),-m) $(if $(SHARED),-s $(SHARED)) $(BUILD) \
	  $(BINDIR)/tests/kernels $(TESTDIR)

# NVIDIA's compute-sanitizer on small cases, on a machine with a GPU
.PHONY: gpusanitize
gpusanitize: testprograms
	@$(RUNENV) tools/gpusanitize $(BUILD) -r benchmarks/results/sanitizer.txt

# ---- Installing and carrying away ------------------------------------------------------------------------------------
.PHONY: install bundle
install: $(so)
	@install -d '$(DESTDIR)$(prefix)/lib' '$(DESTDIR)$(prefix)/include' '$(DESTDIR)$(prefix)/share/$(NAME)'
	@install -m 755 $(sofile) '$(DESTDIR)$(prefix)/lib/'
	@ln -sf $(notdir $(sofile)) '$(DESTDIR)$(prefix)/lib/$(notdir $(soname))'
	@ln -sf $(notdir $(soname)) '$(DESTDIR)$(prefix)/lib/$(notdir $(so))'
	@install -m 644 include/petscspike.h '$(DESTDIR)$(prefix)/include/'
	@install -m 644 LICENSE $(wildcard README.md CITATION.cff) '$(DESTDIR)$(prefix)/share/$(NAME)/'
	@tools/installdev '$(DESTDIR)$(prefix)' $(VERSION) $(notdir $(sofile)) $(SONAME) '$(PETSC_DIR)' '$(PETSC_ARCH)'
	@printf '%s\n' '# Loads $(NAME) into any PETSc application: -options_file $(prefix)/share/$(NAME)/$(NAME).options' \
	  '-dll_append $(prefix)/lib/$(notdir $(so))' >'$(DESTDIR)$(prefix)/share/$(NAME)/$(NAME).options'
	@if '$(PYTHON3)' $(NEWENOUGH); then \
	  '$(PYTHON3)' tools/installdocs '$(DESTDIR)$(prefix)' $(BASE)/docs/html build/docs/html; \
	else echo 'Without Python 3.8 or later manual pages and documents are not installed'; fi
	@echo 'Installed in $(DESTDIR)$(prefix). Use it with'
	@echo '  -dll_append $(prefix)/lib/$(notdir $(so)) -pc_type spike'

# One archive with PETSc, the library and all programs, for a machine without PETSc, compilers or network
bundle: testprograms $(BENCHMARKS) $(TUTORIALS)
	@$(RUNENV) tools/bundle $(BUILD) $(NAME)-$(VERSION)-$(or $(PETSC_ARCH),prefix).tar.xz

# ---- Formatting ------------------------------------------------------------------------------------------------------
.PHONY: format checkformat checkevidence variants versions
variants: ; @CC='$(PCC)' CUDA_INCLUDE='$(CUDA_INCLUDE)' tools/variants '$(PETSC_DIR)' '$(PETSC_ARCH)'

# make versions [petsc="/a/clone/of/petsc ..."]
READ.cu = $(filter-out -gencode arch=compute_% -arch=%,$(CUDAC_FLAGS)) -arch=sm_$(lastword $(CUDA_ARCH)) $(nocomplex) \
  $(MPICXX_INCLUDES)
versions: ; @CC='$(PCC)' CUDAC='$(if $(CUDA),$(CUDAC))' CUDA_INCLUDE='$(CUDA_INCLUDE)' CUDAC_FLAGS='$(READ.cu)' \
  tools/versions '$(PETSC_DIR)' '$(PETSC_ARCH)' $(petsc)
format: ; @tools/format
checkformat: ; @tools/format --check
checkevidence: ; @tools/gpucheck --verify

# ---- Documents -------------------------------------------------------------------------------------------------------
# make checkdocs LINKS=1 asks for addresses outside of the site too
.PHONY: docs checkdocs docfigures
docs: ; @tools/docs $(if $(LINKS),--linkcheck) $(BASE)/docs
checkdocs: docs
	@tools/checkdocs --print $(BASE)/docs/html
	@tools/testdocs
docfigures: $(so) $(TUTORIALS)
	@$(RUNENV) PYTHON3='$(PYTHON3)' tools/docfigures $(BINDIR)/tutorials $(name)

# ---- Where things are ------------------------------------------------------------------------------------------------
.PHONY: info help clean
info:
	@printf '%s\n' 'PETSC_DIR=$(PETSC_DIR)' 'PETSC_ARCH=$(PETSC_ARCH)' 'PETSC_VERSION=$(PETSCVERSION)' \
	  'SPIKE_LIB=$(abspath $(so))'

# The folders that hold a "flags" file are builds
clean:
	@for f in */flags */sanitize/flags */docs/flags; do \
	  [ ! -f "$$f" ] || { echo "removing $${f%/flags}"; rm -rf "$${f%/flags}"; }; done

define HELP
petscspike $(VERSION): solvers that use structure, as a plugin for PETSc 3.24 to 3.26

  make              the library (builds PETSc first when PETSC_DIR is not set: 6 to 10 minutes, once)
  make demo         three real problems, SPIKE beside PETSc's own preconditioners
  make check        all tests except tests/device.sh; with SANITIZE=1 also without faults.sh, memory_ranks.sh
  make checkdevice  those that a PETSc with CUDA changes on a machine without a GPU
  make test         tests in PETSc's form; gs='spike_*' chooses those of the files tests/spike_*.c, gs=view all with
                    "view" in their name
  make testprograms builds what the tests run; kernel tests are then in <PETSC_ARCH>/bin/tests/kernels
  make programs     builds tutorials and benchmarks in <PETSC_ARCH>/bin
  make clients      brings SLEPc and petsc4py's own tests for make check; SPIKE_VENV=FOLDER: a Python of your own
  make fuzz         random cases beside dense references; n=100000 seed=7 for a night
  make dmdatutorials PETSc's tutorials that have a DMDA, with MATDIA beside MATAIJ; type=diacuda on a GPU
  make bench        all benchmarks; name=band for one, args="..." for its options; name=paper-000 to paper-004 for the
                    tables and figures of a paper, args="--list" for their commands
  make gpucheck     PETSc and kernel tests, faults.sh, device.sh, on a machine with a GPU; benchmarks/results
  make gpusanitize  compute-sanitizer on the small kernel tests, likewise
  make checkevidence says whether the record of gpucheck fits the sources
  make install      prefix=/usr/local DESTDIR=; with manual pages and documents, and the site where make docs was run
  make docs         these documents and manual pages as a site, in build/docs; needs neither PETSc nor a compiler
  make checkdocs    the same, its links, and what checks documents; LINKS=1: addresses of other sites too
  make docfigures   runs tutorials, and records in docs/figures what they print and draw; name="ex3 ex8" for some
  make bundle       one archive to run on a machine without PETSc
  make info         PETSC_DIR=, PETSC_ARCH=, PETSC_VERSION=, SPIKE_LIB= (with make -s: nothing else)
  make format       clang-format on all sources; checkformat only looks, at includes and documents too
  make variants     compiles everything for complex, single and 64-bit PETScs, without building one
  make versions     compiles everything against headers of the other PETScs, 3.24 to 3.26; petsc="FOLDER": and these
  make clean        removes what was built here

  PETSC_DIR, PETSC_ARCH   PETSc 3.24 to 3.26 with shared libraries: build tree (both), prefix install (PETSC_DIR alone)
  SPIKE_PETSC_VERSION     the PETSc that is built here: 3.26 (3.26.1, the default), 3.25 (3.25.6), 3.24 (3.24.6)
  SPIKE_PETSC_CONFIG      the PETSc that is built here: complex, single, int64, debug, cuda, nocuda, nopython,
                          unoptimized; several with commas between them
  SANITIZE=1              with AddressSanitizer and UBSan, built apart
  CUDA_ARCH="80 90"       compute capabilities of the GPU code
  CUDA_COMPRESS=size      GPU code in a quarter of the space, which takes longer to load
  CUDA_COMPILE=fast       GPU code that compiles in a third of the time and is slow: to see that it compiles
  MAGMA_DIR=FOLDER        a MAGMA: the benchmark idrmagma, which compares with its IDR(s), is built too
  SPIKE_MATRICES=FOLDER   real matrices for tests that read them
  JOBS=N                  tests at once        V=1   whole command lines        CFLAGS=...   more flags
  -jN or SPIKE_JOBS=N     compilers at once (all cores, as far as memory allows)
endef
export HELP
help: ; @echo "$$HELP"
