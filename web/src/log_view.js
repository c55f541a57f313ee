// The box in which a log is read: only the lines in view are in the page, the rest is scrolled room.

import { bytes, count, grouped } from './format.js';
import { clampTop, linesInView, scrollFromTop, scrollGeometry, topFromScroll } from './log_scroll.js';
import { styleLook } from './sgr.js';

const SPARE = 15; // lines kept above and below the view
const CONTEXT = 5; // lines shown above one that was asked for

export class LogView {
    // store: a LogStore whose onChange calls changed(). rawUrl: of the exact bytes.
    // onLine(n): the person chose a line. onFollow(on): following has begun or ended.
    constructor({ store, rawUrl, onLine, onFollow }) {
        Object.assign(this, { store, rawUrl, onLine, onFollow });
        this.top = 0;
        this.marked = null;
        this.following = false;
        this.rows = new Map();
        this.build();
        this.resized = new ResizeObserver(() => this.changed());
        this.resized.observe(this.element);
    }

    build() {
        this.room = make('div', 'log-room');
        this.layer = make('div', 'log-lines');
        this.note = make('p', 'log-note');
        this.note.setAttribute('role', 'status');
        this.element = make('div', 'log');
        this.element.tabIndex = 0;
        this.element.setAttribute('role', 'region');
        this.element.setAttribute('aria-label', 'log');
        this.room.append(this.layer);
        this.element.append(this.note, this.room);
        this.element.addEventListener('scroll', () => this.scrolled());
        this.element.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
        this.element.addEventListener('keydown', (event) => this.key(event));
        this.layer.addEventListener('click', (event) => this.click(event));
    }

    close() {
        this.resized.disconnect();
        this.store.close();
    }

    // Draws at the next frame.
    changed() {
        this.frame ??= requestAnimationFrame(() => {
            this.frame = null;
            this.draw();
        });
    }

    follow(on) {
        if (on !== this.following) {
            this.following = on;
            this.onFollow(on);
        }
        this.changed();
    }

    // Shows line n and marks it.
    show(n) {
        this.marked = n;
        this.follow(false);
        this.wantedTop = n - 1 - CONTEXT;
        this.changed();
    }

    draw() {
        const { store } = this;
        this.lineHeight ??= this.measure();
        this.geometry = scrollGeometry({ total: store.total, lineHeight: this.lineHeight, viewport: this.element.clientHeight });
        this.room.style.height = `${this.geometry.height}px`;
        if (this.following)
            this.moveTo(this.geometry.maxTop);
        else if (this.wantedTop !== undefined && store.total > 0) {
            this.moveTo(this.wantedTop);
            if (store.complete || this.wantedTop <= this.geometry.maxTop)
                this.wantedTop = undefined;
        }
        const [first, last] = linesInView(this.geometry, this.top, store.total, SPARE);
        store.want(first, Math.max(first, last));
        this.drawLines(first, last);
        this.drawNote();
    }

    drawLines(first, last) {
        for (const [n, row] of this.rows)
            if (n < first || n > last) {
                row.element.remove();
                this.rows.delete(n);
            }
        let before = null;
        for (let n = last; n >= first; n--) {
            const row = this.rows.get(n) ?? this.addRow(n, before);
            this.updateRow(row, n);
            before = row.element;
        }
        const offset = this.element.scrollTop + (first - 1 - this.top) * this.lineHeight;
        this.layer.style.transform = `translateY(${offset}px)`;
        const digits = Math.max(3, String(this.store.total).length);
        this.layer.style.setProperty('--digits', digits);
    }

    addRow(n, before) {
        const row = { element: make('div', 'line'), text: make('span', 'text'), line: undefined };
        const number = make('a', 'number');
        number.href = `#L${n}`;
        number.textContent = n;
        row.element.append(number, row.text);
        this.layer.insertBefore(row.element, before);
        this.rows.set(n, row);
        return row;
    }

    updateRow(row, n) {
        row.element.classList.toggle('marked', n === this.marked);
        const line = this.store.line(n);
        if (line === row.line)
            return;
        row.line = line;
        row.text.replaceChildren(...(line ? line.spans.map(spanNode) : []));
        if (line?.cut)
            row.text.append(this.cutNote(line));
    }

    cutNote(line) {
        const link = make('a', 'cut');
        link.href = this.rawUrl;
        link.target = '_blank';
        link.textContent = `… this line is long (more than ${grouped(line.columns)} columns): see the raw log`;
        return link;
    }

    drawNote() {
        const { error, total, complete } = this.store;
        const text = error ? `The log cannot be read: ${error.message}. Trying again…` : total > 0 ? '' : complete ? 'This log is empty.' : 'Waiting for output…';
        if (this.note.textContent !== text)
            this.note.textContent = text;
        this.note.hidden = text === '';
        this.note.classList.toggle('error', Boolean(error));
        if (error)
            this.retry ??= setTimeout(() => {
                this.retry = null;
                this.changed();
            }, 3500);
    }

    moveTo(top) {
        this.top = clampTop(this.geometry, top);
        this.element.scrollTop = scrollFromTop(this.geometry, this.top);
        this.setScroll = this.element.scrollTop;
    }

    scrolled() {
        if (!this.geometry || Math.abs(this.element.scrollTop - (this.setScroll ?? -1)) < 1) {
            this.changed();
            return;
        }
        this.setScroll = undefined;
        this.wantedTop = undefined;
        this.top = topFromScroll(this.geometry, this.element.scrollTop);
        const range = this.geometry.height - this.geometry.viewport;
        this.follow(!this.store.complete && this.element.scrollTop >= range - 2);
    }

    // In a scaled log one pixel of the scroll bar is many lines: wheel and keys move by lines instead.
    wheel(event) {
        if (this.geometry?.scaled && event.deltaY && !event.ctrlKey) {
            event.preventDefault();
            const pixels = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? event.deltaY * this.lineHeight : event.deltaY;
            this.moveBy(pixels / this.lineHeight);
        }
    }

    key(event) {
        const page = (this.geometry?.viewport ?? 0) / (this.lineHeight ?? 1) - 1;
        const lines = { ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page, ' ': page }[event.key];
        if (lines !== undefined && this.geometry?.scaled && event.target === this.element) {
            event.preventDefault();
            this.moveBy(lines);
        }
    }

    moveBy(lines) {
        this.follow(false);
        this.moveTo(this.top + lines);
        this.changed();
    }

    click(event) {
        const number = event.target.closest('a.number');
        if (!number || event.ctrlKey || event.metaKey || event.shiftKey)
            return;
        event.preventDefault();
        this.marked = Number(number.textContent);
        this.onLine(this.marked);
        this.changed();
    }

    measure() {
        const probe = make('div', 'line');
        probe.textContent = 'x';
        this.layer.append(probe);
        const { height } = probe.getBoundingClientRect();
        probe.remove();
        return height || 18;
    }
}

// A line about the log's size, for the page around the view.
export function logSize(store) {
    return `${count(store.total, 'line')}, ${bytes(store.bytes)}`;
}

function spanNode({ text, style }) {
    const { classes, color, background } = styleLook(style);
    if (classes.length === 0 && !color && !background)
        return document.createTextNode(text);
    const span = make('span', classes.join(' '));
    span.textContent = text;
    if (color)
        span.style.color = color;
    if (background)
        span.style.backgroundColor = background;
    return span;
}

function make(tag, name) {
    const element = document.createElement(tag);
    element.className = name;
    return element;
}
