"""Stability: heads whose features are (not) normalised."""

import torch

from bertology_utils.studies.training import stability as st


def test_a_shifted_cloud_is_off_centre():
    cloud = torch.randn(500, 20, generator=torch.Generator().manual_seed(0))
    assert st.off_centre(cloud + 5).mean() > 0.9
    assert abs(st.off_centre(cloud).mean()) < 0.2


def test_heads_learn_and_normalising_helps_badly_scaled_vectors():
    generator = torch.Generator().manual_seed(0)
    vectors = torch.randn(400, 8, generator=generator)
    labels = (vectors[:, 0] > 0).long().numpy()
    tiny = 0.01 * vectors + 3
    raw = st.linear_heads(tiny[:300], labels[:300], tiny[300:], labels[300:], seeds=4)
    fit, test = st.standardised(tiny[:300], tiny[300:])
    normal = st.linear_heads(fit, labels[:300], test, labels[300:], seeds=4, learning_rate=1e-2)
    assert normal.shape == (4, 100) and normal.mean() > 0.9 > raw.mean() + 0.1
