// The text/event-stream format: text in, events out. Pure.

const MAX_PENDING = 1024 * 1024; // of one unfinished line or event; more is a broken server

export class EventReader {
    constructor() {
        this.rest = '';
        this.afterReturn = false;
        this.lastId = '';
        this.begin();
    }

    begin() {
        this.name = '';
        this.data = [];
        this.size = 0;
    }

    // Takes the next piece of the stream and returns the events that it ended: [{name, data, id}].
    write(text) {
        const events = [];
        if (this.afterReturn && text.startsWith('\n'))
            text = text.slice(1);
        if (text !== '')
            this.afterReturn = text.endsWith('\r');
        const lines = (this.rest + text).split(/\r\n|\n|\r/);
        this.rest = lines.pop();
        for (const line of lines)
            this.takeLine(line, events);
        if (this.rest.length + this.size > MAX_PENDING)
            throw new Error('an event of the server does not end');
        return events;
    }

    takeLine(line, events) {
        if (line === '') {
            if (this.data.length > 0)
                events.push({ name: this.name || 'message', data: this.data.join('\n'), id: this.lastId });
            this.begin();
            return;
        }
        const colon = line.indexOf(':');
        const field = colon < 0 ? line : line.slice(0, colon);
        const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
        if (field === 'event')
            this.name = value;
        else if (field === 'data')
            this.addData(value);
        else if (field === 'id' && !value.includes('\0'))
            this.lastId = value;
    }

    addData(value) {
        this.data.push(value);
        this.size += value.length;
    }
}
