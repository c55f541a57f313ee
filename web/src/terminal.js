// What a terminal would show of a log: bytes in, styled lines out. Pure.
//
// Lines stay where they are, since their numbers are permalinks: sequences that move between lines are
// ignored, those that work within a line (carriage return, backspace, tabs, erase, columns, colours) are
// carried out. Invalid UTF-8 becomes U+FFFD. Memory per line is bounded by MAX_COLUMNS however long the
// line is, and a sequence that is cut off by the end of its line or of the log is dropped.

import { PLAIN, applySgr, sameStyle } from './sgr.js';

export const MAX_COLUMNS = 4000;

const MAX_SEQUENCE = 256; // longest CSI that is believed
const MAX_STRING = 4096; // longest OSC, DCS and the like
const MAX_CELL = 16; // code units in one cell, so that combining marks cannot pile up
const TAB = 8;
const NEWLINE = 10;

const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g;
const COMBINING = /^[\p{M}\u200d\ufe00-\ufe0f]/u;

// Characters of one column each that combine with nothing.
const SIMPLE = /^[\u0020-\u02ff]*$/;

// One line while it is being written. Most lines are only ever appended to: they are kept as runs of one
// style, and spread out into cells once something is written over.
class Line {
    constructor(style) {
        this.style = style;
        this.runs = [];
        this.cells = null; // with their styles, once spread
        this.styles = null;
        this.column = 0;
        this.columns = 0; // the furthest column written, beyond MAX_COLUMNS too
        this.state = textState;
        this.sequence = '';
    }

    write(text) {
        let i = 0;
        while (i < text.length)
            i = this.state(this, text, i);
    }

    put(run) {
        const end = this.column + run.length;
        if (!this.cells && this.column === this.columns && end <= MAX_COLUMNS && SIMPLE.test(run)) {
            append(this.runs, run, this.style);
            this.column = end;
        } else {
            this.spread();
            this.putCells(run);
        }
        this.columns = Math.max(this.columns, this.column);
    }

    spread() {
        if (this.cells)
            return;
        this.cells = [];
        this.styles = [];
        for (const { text, style } of this.runs)
            for (const char of text) {
                this.cells.push(char);
                this.styles.push(style);
            }
    }

    putCells(run) {
        let used = 0;
        for (const char of run) {
            if (this.column >= MAX_COLUMNS) {
                this.column += run.length - used; // in code units: only the note beside a cut line tells
                break;
            }
            used += char.length;
            if (char > '\u02ff' && COMBINING.test(char) && this.column > 0)
                this.combine(char);
            else
                this.set(this.column++, char);
        }
    }

    set(column, char) {
        while (this.cells.length < column) {
            this.cells.push(' ');
            this.styles.push(PLAIN);
        }
        this.cells[column] = char;
        this.styles[column] = this.style;
    }

    combine(mark) {
        const column = this.column - 1;
        if (column < this.cells.length && this.cells[column].length < MAX_CELL)
            this.cells[column] += mark;
    }

    move(column) {
        this.column = Math.max(0, Math.min(column, MAX_COLUMNS));
    }

    truncate(column) {
        if (column >= this.columns)
            return;
        this.spread();
        this.cells.length = Math.min(this.cells.length, column);
        this.styles.length = this.cells.length;
        this.columns = column;
    }

    blank(from, to) {
        this.spread();
        for (let i = from; i < Math.min(to, this.cells.length); i++) {
            this.cells[i] = ' ';
            this.styles[i] = PLAIN;
        }
    }

    remove(from, count) {
        this.spread();
        this.columns -= this.cells.splice(from, count).length;
        this.styles.splice(from, count);
    }

    // The line as it looks now: {spans: [{text, style}], columns, cut}; cut says that more was written than is kept.
    look() {
        const spans = [];
        if (this.cells)
            this.cells.forEach((cell, i) => append(spans, cell, this.styles[i]));
        else
            this.runs.forEach(({ text, style }) => append(spans, text, style));
        return { spans, columns: this.columns, cut: this.columns > MAX_COLUMNS };
    }
}

function append(runs, text, style) {
    const last = runs.at(-1);
    if (last && sameStyle(last.style, style))
        last.text += text;
    else
        runs.push({ text, style });
}

// Each state takes what it understands from text at i and returns the place after it.
function textState(line, text, i) {
    CONTROL.lastIndex = i;
    const found = CONTROL.exec(text);
    const end = found ? found.index : text.length;
    if (end > i)
        line.put(text.slice(i, end));
    if (!found)
        return end;
    control(line, text.charCodeAt(end));
    return end + 1;
}

function control(line, code) {
    if (code === 13)
        line.move(0);
    else if (code === 8)
        line.move(line.column - 1);
    else if (code === 9)
        line.move((Math.floor(line.column / TAB) + 1) * TAB);
    else if (code === 27)
        enter(line, escapeState);
}

function enter(line, state) {
    line.state = state;
    line.sequence = '';
}

function escapeState(line, text, i) {
    const char = text[i];
    if (char === '[')
        enter(line, csiState);
    else if (']PX^_'.includes(char))
        enter(line, stringState);
    else if (char >= ' ' && char <= '/')
        return i + 1; // an intermediate: one more character follows
    else
        enter(line, textState);
    return char < ' ' ? i : i + 1;
}

function csiState(line, text, i) {
    const char = text[i];
    if (char >= '@' && char <= '~') {
        const { sequence } = line;
        enter(line, textState);
        csi(line, char, sequence);
        return i + 1;
    }
    if (char < ' ' || char > '~' || line.sequence.length >= MAX_SEQUENCE) {
        enter(line, textState);
        return i;
    }
    line.sequence += char;
    return i + 1;
}

// Operating system commands (titles, links) and other strings: skipped up to BEL or ESC \.
function stringState(line, text, i) {
    const char = text[i];
    if (char === '\u0007' || line.sequence.length >= MAX_STRING)
        enter(line, textState);
    else if (char === '\u001b')
        enter(line, escapeState);
    else
        line.sequence += char;
    return i + 1;
}

function csi(line, final, sequence) {
    if (!/^[\d;:]*$/.test(sequence))
        return; // private ones (cursor shape, modes) do not change the text
    if (final === 'm') {
        line.style = applySgr(line.style, sequence);
        return;
    }
    const params = sequence.split(';');
    const count = Math.max(1, Math.min(Number(params[0]) || 1, MAX_COLUMNS));
    if (final === 'K')
        erase(line, Number(params[0]) || 0);
    else if (final === 'J' && !Number(params[0]))
        line.truncate(line.column);
    else if (final === 'C')
        line.move(line.column + count);
    else if (final === 'D')
        line.move(line.column - count);
    else if (final === 'G' || final === '`')
        line.move(count - 1);
    else if (final === 'X')
        line.blank(line.column, line.column + count);
    else if (final === 'P')
        line.remove(line.column, count);
}

function erase(line, mode) {
    if (mode === 0)
        line.truncate(line.column);
    else if (mode === 1)
        line.blank(0, line.column + 1);
    else if (mode === 2)
        line.truncate(0);
}

// Reads a log, or a part of it that begins at a line's start. Colours carry on from line to line.
export class Terminal {
    // limit: how many lines to read; write() takes no more bytes after them.
    constructor(limit = Infinity) {
        this.limit = limit;
        this.lines = []; // finished ones, as Line.look() gives them
        this.lineBytes = 0; // of the line that is being written
        this.line = new Line(PLAIN);
        this.partial = null;
        this.decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    }

    get full() {
        return this.lines.length >= this.limit;
    }

    // Returns how many of the bytes were taken: all, unless the limit was reached.
    write(bytes) {
        let at = 0;
        while (at < bytes.length && !this.full) {
            const newline = bytes.indexOf(NEWLINE, at);
            const end = newline < 0 ? bytes.length : newline;
            this.line.write(this.decoder.decode(bytes.subarray(at, end), { stream: newline < 0 }));
            this.lineBytes += end - at;
            this.partial = null;
            if (newline >= 0)
                this.finishLine();
            at = newline < 0 ? end : end + 1;
        }
        return at;
    }

    // Gives up on the rest of the line that is being written: what was read of it becomes a line marked as cut.
    cutLine() {
        this.decoder.decode();
        this.finishLine();
        this.lines[this.lines.length - 1].cut = true;
    }

    // The log has ended: a character that was cut off by the end is shown as U+FFFD.
    end() {
        this.line.write(this.decoder.decode());
        this.partial = null;
    }

    // The line without a newline at the end, or null when there is none.
    current() {
        if (this.lineBytes === 0)
            return null;
        this.partial ??= this.line.look();
        return this.partial;
    }

    finishLine() {
        this.lines.push(this.line.look());
        this.line = new Line(this.line.style);
        this.lineBytes = 0;
        this.partial = null;
    }
}

// All lines of a whole log.
export function readLog(bytes) {
    const terminal = new Terminal();
    terminal.write(bytes);
    terminal.end();
    const current = terminal.current();
    return current ? [...terminal.lines, current] : terminal.lines;
}

export function lineText(line) {
    return line.spans.map((span) => span.text).join('');
}
