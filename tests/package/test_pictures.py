"""Pictures and what notebooks show."""

import xml.etree.ElementTree as ET

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from conftest import STRUCTURES, random_network

import tnsearch


@pytest.fixture(scope="module")
def found():
    """A search with a front: a field that no small network has exactly."""
    i, j, k, l = np.ogrid[0:4, 0:4, 0:4, 0:4]
    return tnsearch.search(1 / (1.0 + i + 2 * j + k * l), template="ring", max_re=0.01, strategy="tnls", samples=10, iterations=3)


@pytest.fixture(autouse=True)
def no_figures_left():
    yield
    plt.close("all")


def test_a_network_is_drawn(network):
    ax = network.plot()
    lines = [line for line in ax.lines]
    assert len(lines) == len(network.structure.edges)
    texts = {text.get_text() for text in ax.texts}
    ranks = {str(rank) for rank in network.structure.ranks if rank > 1}
    assert ranks <= texts
    shown = "\n".join(texts)
    for name, side in list(zip(network.mode_names, network.dims, strict=True))[:3]:
        assert f"{name}: {side}" in shown
    assert str(network.params) in ax.get_title().replace(",", "")
    ax.figure.canvas.draw()


def test_it_is_drawn_on_axes_that_are_given():
    figure, (left, right) = plt.subplots(1, 2)
    assert random_network(*STRUCTURES["ring"]).plot(right) is right
    assert not left.lines and right.lines
    with pytest.raises(TypeError, match="ax is a str"):
        random_network(*STRUCTURES["ring"]).plot("here")
    assert len(plt.get_fignums()) == 1 and figure.axes == [left, right]


def test_history_and_front(found):
    ax = tnsearch.plot_history(found)
    params = [point["params"] for point in found.history]
    assert list(ax.lines[1].get_ydata()) == params
    ax = tnsearch.plot_pareto(found)
    points = sorted((point["params"], point["rse"] ** 0.5) for point in found.pareto)
    drawn = list(zip(*ax.lines[1].get_data(), strict=True))
    np.testing.assert_allclose(drawn, np.maximum(points, 1e-16))
    assert ax.get_yscale() == "log"
    ax.figure.canvas.draw()


def test_notebooks_show_a_drawing_and_the_facts(found, network):
    html = network._repr_html_()
    root = ET.fromstring(html)
    assert root.find(".//{http://www.w3.org/2000/svg}svg") is not None
    text = "".join(root.itertext())
    assert f"{network.params:,} (" in text and " × ".join(map(str, network.shape)) in text
    html = found._repr_html_()
    text = "".join(ET.fromstring(html).itertext())
    assert f"{found.params:,}" in text and "evaluations" in text and "proof" in text


def test_the_svg_stands_alone(network):
    root = ET.fromstring(network.svg())
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "href" not in network.svg() and "http:" not in network.svg().replace("http://www.w3.org/2000/svg", "")


def test_names_are_escaped():
    from tnsearch._html import table

    assert "<b>" not in table([("<b>", "<b>")])
