import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PLAIN, applySgr, styleLook } from '../src/sgr.js';
import { MAX_COLUMNS, Terminal, lineText, readLog } from '../src/terminal.js';

const bytes = (text) => new TextEncoder().encode(text);
const texts = (input) => readLog(typeof input === 'string' ? bytes(input) : input).map(lineText);

test('carriage returns, backspace, erase and a lone ESC at the end', () => {
    const input = '10%\r20%\r100%\nab\bc\n\x1b[31mred\x1b[0m\x1b[2K\rX\nAAAA\rBB\n\x1b';
    assert.deepEqual(texts(input), ['100%', 'ac', 'X', 'BBAA', '']);
});

test('the same, whatever the pieces it arrives in', () => {
    const input = bytes('10%\r100%\nab\bc\né€😀\n\x1b[1;31mred\x1b[0m\x1b[2K\rX\nAAAA\rBB\x1b[');
    const whole = readLog(input);
    for (let size = 1; size < 7; size++) {
        const terminal = new Terminal();
        for (let at = 0; at < input.length; at += size)
            terminal.write(input.subarray(at, at + size));
        terminal.end();
        assert.deepEqual([...terminal.lines, terminal.current()], whole, `pieces of ${size}`);
    }
});

test('a log cut at any byte is no error', () => {
    const input = bytes('\x1b[38;2;1;2;3mA\x1b]0;title\x07é\x1b(B\x1bPx\x1b\\\x1b[?25l\x1b[0K\n\x1b[');
    for (let n = 0; n <= input.length; n++)
        assert.ok(Array.isArray(readLog(input.subarray(0, n))));
    assert.equal(texts(input)[0], 'Aé');
});

test('HTML is text', () => {
    assert.deepEqual(texts('<script>alert(1)</script>\n'), ['<script>alert(1)</script>']);
});

test('invalid UTF-8 becomes U+FFFD and nothing is lost around it', () => {
    assert.deepEqual(texts(Uint8Array.of(0x61, 0xff, 0x62, 0x0a)), ['a\ufffdb']);
    assert.deepEqual(texts(Uint8Array.of(0xe2, 0x82, 0x0a, 0x63)), ['\ufffd', 'c']);
    assert.deepEqual(texts(Uint8Array.of(0x61, 0xc3)), ['a\ufffd']);
    assert.deepEqual(texts('\ufeffa\n'), ['\ufeffa']);
});

test('half a character at the end of a growing log waits for the rest', () => {
    const terminal = new Terminal();
    terminal.write(Uint8Array.of(0x61, 0xc3));
    assert.equal(lineText(terminal.current()), 'a');
    terminal.write(Uint8Array.of(0xa9));
    assert.equal(lineText(terminal.current()), 'aé');
});

test('CRLF, tabs, NUL, bell and DEL', () => {
    assert.deepEqual(texts('one\r\ntwo\r\n'), ['one', 'two']);
    assert.deepEqual(texts('a\tb\n\t\tc\n'), ['a       b', '                c']);
    assert.deepEqual(texts('a\0b\x07c\x7fd\n'), ['abcd']);
});

test('a tab and a move pass over what is there', () => {
    assert.deepEqual(texts('0123456789\r\tX\n'), ['01234567X9']);
    assert.deepEqual(texts('abcdef\r\x1b[2CX\x1b[2DY\n'), ['aYXdef']);
    assert.deepEqual(texts('abc\x1b[8GX\n'), ['abc    X']);
});

test('erasing parts of a line', () => {
    assert.deepEqual(texts('abcdef\x1b[3D\x1b[K\n'), ['abc']);
    assert.deepEqual(texts('abcdef\x1b[3D\x1b[1KX\n'), ['   Xef']);
    assert.deepEqual(texts('abcdef\r\x1b[2P\n'), ['cdef']);
    assert.deepEqual(texts('abcdef\r\x1b[2X\n'), ['  cdef']);
    assert.deepEqual(texts('abcdef\r\x1b[JX\n'), ['X']);
});

test('backspace stops at the first column', () => {
    assert.deepEqual(texts('a\b\b\bZ\n'), ['Z']);
});

test('sequences that move between lines or set modes leave the text alone', () => {
    assert.deepEqual(texts('\x1b[1A\x1b[2K\rabc\x1b[?25h\x1b[>4;1mdef\x1b7\x1b8\x1b=g\n'), ['abcdefg']);
});

test('titles, links and other strings are dropped, their text kept', () => {
    assert.deepEqual(texts('\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\b\n'), ['alinkb']);
    assert.deepEqual(texts('a\x1b]0;never ended\nb\n'), ['a', 'b']);
    assert.deepEqual(texts('a\x1b[12\nb\n'), ['a', 'b']);
});

test('combining marks stay with their letter', () => {
    assert.deepEqual(texts('e\u0301x\r\x1b[CY\n'), ['e\u0301Y']);
    assert.ok(texts('a' + '\u0301'.repeat(10000) + '\n')[0].length < 32);
});

test('colours', () => {
    const [line] = readLog(bytes('a\x1b[31mb\x1b[1;44mc\x1b[39md\x1b[me\n'));
    assert.deepEqual(line.spans.map((span) => [span.text, span.style.fg, span.style.bg]), [
        ['a', null, null],
        ['b', 1, null],
        ['c', 1, 4],
        ['d', null, 4],
        ['e', null, null],
    ]);
});

test('colours carry on over lines', () => {
    const lines = readLog(bytes('\x1b[32mone\ntwo\x1b[0m\nthree\n'));
    assert.deepEqual(lines.map((line) => line.spans[0].style.fg), [2, 2, null]);
});

test('256 colours and true colour in both spellings', () => {
    const fg = (params) => applySgr(PLAIN, params).fg;
    assert.equal(fg('38;5;9'), 9);
    assert.equal(fg('38;5;196'), '#ff0000');
    assert.equal(fg('38;5;232'), '#080808');
    assert.equal(fg('38;2;1;2;255'), '#0102ff');
    assert.equal(fg('38:5:196'), '#ff0000');
    assert.equal(fg('38:2::1:2:255'), '#0102ff');
    assert.equal(fg('38:2:1:2:255'), '#0102ff');
    assert.equal(fg('96'), 14);
    assert.equal(fg('38;5;999'), null);
    assert.equal(fg('38;2;1'), null);
    assert.deepEqual(applySgr(PLAIN, '38;5;1;48;2;0;0;0;1'), { fg: 1, bg: '#000000', flags: 1 });
    assert.equal(applySgr(applySgr(PLAIN, '1;31'), ''), PLAIN);
});

test('how a style looks', () => {
    const look = (params) => styleLook(applySgr(PLAIN, params));
    assert.deepEqual(look('1;31'), { classes: ['bold', 'fg-1'], color: null, background: null });
    assert.deepEqual(look('38;2;1;2;3;42'), { classes: ['bg-2'], color: '#010203', background: null });
    assert.deepEqual(look('7'), { classes: ['fg-back', 'bg-fore'], color: null, background: null });
    assert.deepEqual(look('7;48;2;1;2;3'), { classes: ['bg-fore'], color: '#010203', background: null });
});

test('a very long line costs a bounded amount and is marked as cut', () => {
    const terminal = new Terminal();
    const piece = bytes('x'.repeat(65536));
    for (let i = 0; i < 320; i++)
        terminal.write(piece);
    terminal.write(bytes('\rstart\nnext\n'));
    assert.equal(terminal.lines[0].spans.length, 1);
    assert.equal(lineText(terminal.lines[0]).length, MAX_COLUMNS);
    assert.ok(lineText(terminal.lines[0]).startsWith('startxxx'));
    assert.equal(terminal.lines[0].cut, true);
    assert.equal(terminal.lines[0].columns, 320 * 65536);
    assert.equal(lineText(terminal.lines[1]), 'next');
});

test('a progress bar of any length ends in its last state', () => {
    const steps = Array.from({ length: 50000 }, (_, i) => `\r${i} of 50000`).join('');
    const [line] = readLog(bytes(steps + '\n'));
    assert.equal(lineText(line), '49999 of 50000');
    assert.equal(line.cut, false);
});

test('a limit stops after that many lines and tells what was taken', () => {
    const terminal = new Terminal(2);
    assert.equal(terminal.write(bytes('one\ntwo\nthree\n')), 8);
    assert.equal(terminal.full, true);
    assert.equal(terminal.write(bytes('more')), 0);
    assert.deepEqual(terminal.lines.map(lineText), ['one', 'two']);
});

test('the rest of a line can be given up', () => {
    const terminal = new Terminal();
    terminal.write(bytes('begun'));
    terminal.cutLine();
    assert.equal(lineText(terminal.lines[0]), 'begun');
    assert.equal(terminal.lines[0].cut, true);
    assert.equal(terminal.current(), null);
});

test('random bytes never break it', () => {
    let seed = 12345;
    const random = () => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) >>> 16;
    for (let round = 0; round < 200; round++) {
        const input = Uint8Array.from({ length: 500 }, () => (random() % 3 ? random() & 255 : [27, 91, 59, 75, 109, 13, 8][random() % 7]));
        const newlines = input.filter((byte) => byte === 10).length;
        const lines = readLog(input);
        assert.ok(lines.length === newlines || lines.length === newlines + 1);
        for (const line of lines)
            assert.ok(!/[\u0000-\u001f]/.test(lineText(line)));
    }
});
