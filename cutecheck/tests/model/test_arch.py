import pytest

from cutecheck.model.arch import architecture, compute_capability, supports
from cutecheck.model.atoms import copy_op, mma_op


@pytest.mark.parametrize("text", ["sm_90", "sm_90a", "90", "9.0", "SM90a", "compute_90"])
def test_names_of_a_target(text):
    assert compute_capability(text) == 90


def test_limits():
    hopper, ada = architecture("sm_90a"), architecture("8.9")
    assert (hopper.smem_per_block, ada.smem_per_block) == (232448, 101376)
    assert (hopper.access_model, ada.access_model) == ("measured", "assumed")
    assert architecture("sm_100").tmem_columns == 512 and hopper.tmem_columns == 0
    assert architecture("sm_42") is None
    with pytest.raises(ValueError, match="no architecture"):
        compute_capability("volta")


def test_which_targets_an_atom_compiles_for():
    gmma = mma_op("SM90_64x64x16_F32F16F16_SS", ("GMMA::Major::K", "GMMA::Major::K")).targets
    assert supports(gmma, "sm_90a") and not supports(gmma, "sm_90") and not supports(gmma, "sm_100a")
    ldmatrix = copy_op("SM75_U32x4_LDSM_N").targets
    assert supports(ldmatrix, "sm_75") and supports(ldmatrix, "sm_120a") and not supports(ldmatrix, "sm_70")
    assert supports((), "sm_70") is None
