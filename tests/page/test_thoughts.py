"""Seeing how it thinks: figures on the cells, the table, the bar and the curve."""


def test_thoughts_on_the_cells_and_in_the_table(tab):
    page = tab("gomoku", level="easy")
    page.page.get_by_role("switch", name="Show its thoughts").check()
    page.play(40)
    page.page.wait_for_selector(".azp-thoughts[data-kind='reply']")
    assert page.page.locator(".azp-over:visible").count() > 1
    head = page.page.locator(".azp-table thead th").all_inner_texts()
    assert head == ["Move", "N", "Q", "P", "Sum"]
    rows = page.page.locator(".azp-table tbody tr").count()
    assert 1 < rows <= 8
    assert "→" in page.page.inner_text(".azp-expected")
    shown = page.page.locator(".azp-over:visible b").first.inner_text()
    page.page.get_by_label("Prior P").check()
    assert page.page.locator(".azp-over:visible b").first.inner_text() != shown
    page.page.reload()
    page.idle()
    assert page.page.get_by_role("switch", name="Show its thoughts").is_checked()


def test_thoughts_are_live_while_it_thinks(tab):
    page = tab("gomoku", level="master")
    page.page.get_by_role("switch", name="Show its thoughts").check()
    page.click(40)
    page.page.wait_for_selector(".azp[data-thinking] .azp-thoughts[data-kind='live']")
    assert page.page.locator(".azp-over:visible").count() > 1
    page.press("new")
    page.idle("[data-ply='0']")


def test_the_curve_grows(tab):
    page = tab("tictactoe", level="easy")
    page.play(4)
    page.page.wait_for_selector(".azp-curve[data-points='2']")  # a slip is looked at after it was played
    assert page.page.get_attribute(".azp-bar", "aria-label").startswith("Chances: Crosses ")


def test_a_proof_is_told_in_words(tab):
    page = tab("gomoku", at="D5-A1-E5-A2-F5-A3-G5-B9")
    page.page.get_by_role("switch", name="Show its thoughts").check()
    page.press("hint")
    page.idle()
    page.page.wait_for_selector(".azp-thoughts[data-kind='hint']")
    assert "Black wins with the next move." in page.page.inner_text(".azp-about")
    assert "wins" in page.page.locator(".azp-table tbody tr").first.inner_text()
    explained = page.page.locator(".azp-explain dt").all_inner_texts()
    assert explained == ["N", "Q", "P", "Sum"]


def test_the_board_says_who_wins_by_force_and_how_soon(tab):
    page = tab("chain_reaction", level="master")
    page.play(12)
    assert page.detail == "Blue played B2. Blue wins by force: 42\u00a0moves left at most."
    page.play(12)
    assert "Blue wins by force" in page.detail
    left = int(page.detail.split(": ")[1].split("\u00a0")[0])
    assert left <= 40
    page.press("undo")
    page.idle("[data-ply='2']")
    assert "by force" not in page.detail


def test_two_people_hear_of_a_forced_win_only_if_they_want_to(tab):
    page = tab("gomoku", side="both")
    assert page.page.locator("select.azp-level").is_disabled()
    for cell, ply in zip((39, 0, 40, 2, 41, 4), range(1, 7), strict=True):
        page.click(cell)
        page.idle(f"[data-ply='{ply}']")
    page.page.wait_for_selector(".azp-bar[data-chance='100']")
    assert "by force" not in page.detail
    page.page.get_by_role("switch", name="Show its thoughts").check()
    page.says("Black wins by force: 3\u00a0moves left at most.")


def test_the_bar_says_whose_it_is(tab):
    page = tab("gomoku", at="E5-D4-F6")
    page.page.wait_for_selector(".azp-bar[data-known='true']")
    bar = page.page.inner_text(".azp-bar")
    assert "White (you)" in bar
    assert "Black" in bar
