"""Answers that are none: the page says so in a sentence, keeps the game, and goes on."""

BROKEN = [
    (200, "<html>", "made no sense"),
    (200, '{"data": [{"ok": true}]}', "made no sense"),
    (200, '{"data": [{"ok": true, "moves": [0], "cells": [9]}]}', "made no sense"),
    (200, '{"data": [null]}', "made no sense"),
    (200, '{"data": [{"ok": true, "moves": [4], "cel', "made no sense"),
    (200, "[]", "made no sense"),
    (200, '{"data": [{"ok": true, "moves": [99], "cells": [], "legal": {}}]}', "made no sense"),
    (200, "", "made no sense"),
    (404, "<html>", "went wrong"),
    (500, "{}", "went wrong"),
    (504, "<html>", "Many people are playing"),
    (200, '{"data": [{"ok": false, "code": "stumbled"}]}', "went wrong"),
    (503, "", "Many people are playing"),
    (200, '{"data": [{"ok": false, "code": "busy", "seconds": 9}]}', "Many people are playing"),
]


def answer_with(page, status, body):
    page.page.route("**/run/ask", lambda route: route.fulfill(status=status, body=body))


def test_a_broken_answer_gets_a_word_and_a_retry(tab):
    page = tab("tictactoe", level="easy")
    for status, body, said in BROKEN:
        answer_with(page, status, body)
        page.click(4)
        page.says(said)
        assert page.state("trouble"), body
        page.page.unroute("**/run/ask")
        page.press("retry")
        page.idle("[data-ply='2']")
        assert page.values[4] == 1
        page.press("undo")
        page.idle("[data-ply='0']")


def test_a_busy_server_is_tried_again_by_itself(tab):
    page = tab("tictactoe", level="easy")
    busy = '{"data": [{"ok": false, "code": "busy", "seconds": 1}]}'
    page.page.route("**/run/ask", lambda route: route.fulfill(body=busy), times=1)
    page.click(4)
    page.idle("[data-ply='2']")


def test_a_game_that_is_not_ready_says_so(tab):
    page = tab("tictactoe", level="easy")
    held = []
    page.page.route("**/run/ask", lambda route: held.append(route))
    page.page.route("**/run/peek", lambda route: route.fulfill(body='{"data": [{"stage": "waiting"}]}'))
    page.click(4)
    page.says("getting this game ready")
    page.page.unroute("**/run/ask")
    held[0].continue_()
    page.idle("[data-ply='2']")


def test_no_answer_at_all_ends_in_a_word(tab):
    page = tab("tictactoe", level="easy")
    page.page.evaluate("const real = AbortSignal.timeout; AbortSignal.timeout = () => real.call(AbortSignal, 300)")
    page.page.route("**/run/ask", lambda route: None)  # held for ever
    page.click(4)
    page.says("No connection to the server")
    page.page.unroute("**/run/ask")
    page.idle("[data-ply='2']")


def test_broken_looks_at_a_search_do_no_harm(tab):
    page = tab("gomoku", level="master")
    page.page.get_by_role("switch").check()
    page.page.route("**/run/peek", lambda route: route.fulfill(status=200, body="<html>"))
    with page.page.expect_response("**/run/peek"):
        page.click(40)
    page.idle("[data-ply='2']")
