"""Mangled names in readable form; hostile ones cost nothing."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.timelines.demangling import demangled


@pytest.mark.parametrize(
    ("symbol", "text"),
    [
        # As c++filt of binutils 2.40 writes them, but for the space between two closing brackets.
        ("_ZN3c104cuda9SetDeviceEa", "c10::cuda::SetDevice(signed char)"),
        (
            "_ZNK3c1011StorageImpl27throw_data_ptr_access_errorEv",
            "c10::StorageImpl::throw_data_ptr_access_error() const",
        ),
        ("_ZTVN5torch8autograd4NodeE", "vtable for torch::autograd::Node"),
        (
            "_ZN3c106detail14torchCheckFailEPKcS2_jRKSs",
            (
                "c10::detail::torchCheckFail(char const*, char const*, unsigned int, std::string "
                "const&)"
            ),
        ),
        (
            "_ZN3c106ivalueplERKSt6vectorIlSaIlEE",
            "c10::ivalue::operator+(std::vector<long, std::allocator<long>> const&)",
        ),
        (
            "_ZN3c1017SetAPIUsageLoggerESt8functionIFvRKSsEE",
            "c10::SetAPIUsageLogger(std::function<void (std::string const&)>)",
        ),
        (
            "_ZNR5torch7Library4_defEON3c106eitherINS1_12OperatorNameENS1_14FunctionSchemaEEEONS_11CppFunctionE",
            (
                "torch::Library::_def(c10::either<c10::OperatorName, c10::FunctionSchema>&&, "
                "torch::CppFunction&&) &"
            ),
        ),
        (
            "_ZN6caffe28TypeMeta21_typeMetaDataInstanceIlEEPKNS_6detail12TypeMetaDataEv",
            "caffe2::detail::TypeMetaData const* caffe2::TypeMeta::_typeMetaDataInstance<long>()",
        ),
        (
            "_ZNK2at10TensorBase8data_ptrIN3c108BFloat16EEEPT_v",
            "c10::BFloat16* at::TensorBase::data_ptr<c10::BFloat16>() const",
        ),
        (
            "_ZN2at4_ops19empty_memory_format4callEN3c108ArrayRefINS2_6SymIntEEESt8optionalINS2_10ScalarTypeEE",
            (
                "at::_ops::empty_memory_format::call(c10::ArrayRef<c10::SymInt>, "
                "std::optional<c10::ScalarType>)"
            ),
        ),
        ("_Z1fPFviE", "f(void (*)(int))"),
        ("_Z1fILb1ELi3ELm2EEvv", "void f<true, 3, 2ul>()"),
        ("_Z1fRA4_Ki", "f(int const (&) [4])"),
        ("_ZN1AD1Ev", "A::~A()"),
        ("_ZN1AIiEC2ERKS0_", "A<int>::A(A<int> const&)"),
        ("_ZNK1AcvbEv", "A::operator bool() const"),
        ("_ZZ1fvENKUliE_clEi", "f()::{lambda(int)#1}::operator()(int) const"),
        ("_ZThn16_N1A1fEv", "non-virtual thunk to A::f()"),
        ("_Z1fv.cold", "f() [clone .cold]"),
        ("_ZN12_GLOBAL__N_11fEv", "(anonymous namespace)::f()"),
    ],
)
def test_a_readable_name(symbol: str, text: str) -> None:
    assert demangled(symbol) == text


@pytest.mark.parametrize(
    "symbol",
    [
        "",
        "main",
        "_Z",
        "_ZN",
        "_ZN3c1",
        "_Z1fE",
        "_Z0",
        "_Z1fS_",
        "_ZN1AE1",
        "_Z99999999f",
        "_Z1fvé",
    ],
)
def test_what_is_no_mangled_name(symbol: str) -> None:
    assert demangled(symbol) is None


@pytest.mark.parametrize(
    "symbol",
    [
        "_Z" + "N" * 5000,
        "_Z1f" + "P" * 8000 + "i",
        "_Z1f" + "F" * 4000,
        "_Z1f" + "IX" * 2000,
        "_Z1fI" + "J" * 4000,
        # Each pair repeats the part before it twice: 2 to the power of 60 letters.
        "_Z1fSt4pairIiiE"
        + "".join(
            f"St4pairIS{_}_S{_}_E" for _ in ["", *"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"] * 2
        ),
        "_Z1f" + "A_" * 4000 + "i",
        "_Z1fIXX" + "pl" * 3000,
        "_ZZ" + "Z" * 4000,
        "_Z" + "1f" * 1_000_000,
        "_Z1f" + "i" * 8000,
    ],
)
def test_a_hostile_name_costs_little(symbol: str) -> None:
    start = time.process_time()
    text = demangled(symbol)
    assert time.process_time() - start < 4
    assert text is None or len(text) <= 1 << 16


@given(st.text(alphabet="NSt0123456789EIJXLTZabcdijlmvKRPOFADpsrclfBCUu_GVh", max_size=200))
def test_any_name_ends_in_text_or_nothing(rest: str) -> None:
    text = demangled("_Z" + rest)
    assert text is None or len(text) <= 1 << 16
