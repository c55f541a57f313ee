// The machines: what each does, and taking one out of work.

import { ask } from '../dialog.js';
import { withNamed } from '../grid.js';
import { h } from '../h.js';
import { ago, badge, button, buildLink, loaded, table } from '../pieces.js';

export function slavesPage(app, route) {
    const state = { data: null, error: null, sought: false };

    async function load() {
        try {
            state.data = (await app.api.get('/slaves?limit=1000')).slaves;
            state.error = null;
        } catch (error) {
            state.error = error;
        }
        app.drawNow();
        seek();
    }

    // The slave that the address names comes into view, once.
    function seek() {
        const row = state.data && route.name ? document.getElementById(rowId(route.name)) : null;
        if (row && !state.sought)
            row.scrollIntoView({ block: 'center' });
        state.sought ||= Boolean(row);
    }

    function onEvent(name, data) {
        if (name === 'slave' && state.data)
            state.data = withNamed(state.data, data);
        if (name === 'config')
            load();
    }

    async function drain(slave) {
        const reason = await ask({
            title: `Drain ${slave.name}`,
            text: 'It finishes what it runs and is given nothing new until it is resumed.',
            label: 'Reason (optional)',
            action: 'Drain',
        });
        if (reason !== null)
            change(slave, 'drain', reason ? { reason } : {});
    }

    async function change(slave, verb, body) {
        const changed = await app.act(() => app.api.post(`/slaves/${encodeURIComponent(slave.name)}/${verb}`, body));
        if (changed && state.data)
            state.data = withNamed(state.data, changed);
        app.draw();
    }

    return {
        title: 'Slaves',
        load,
        onEvent,
        onRoute: (next) => {
            if (next.page !== 'slaves')
                return false;
            route = next;
            state.sought = false;
            seek();
            return true;
        },
        view: () => [
            h('h1', null, 'Slaves'),
            loaded(state, (slaves) => slavesView(slaves, route.name, { drain, resume: (slave) => change(slave, 'resume', {}) }, app.now())),
        ],
    };
}

export function slavesView(slaves, chosen, actions, nowMs) {
    const columns = [['Slave'], ['State'], ['Running'], ['Pools', 'wide'], ['Labels', 'wide'], ['Platform', 'wide'], ['Version', 'wide'], ['Seen', 'wide'], ['']];
    return table('Slaves', columns, slaves.map((slave) => slaveRow(slave, chosen, actions, nowMs)), 'No slave is configured.');
}

function slaveRow(slave, chosen, actions, nowMs) {
    const builds = slave.builds ?? [];
    const seen = slave.state === 'offline' ? ago(slave.last_seen_at, nowMs) : h('span', null, 'connected ', ago(slave.connected_at, nowMs));
    return h('tr', { key: slave.name, id: rowId(slave.name), 'aria-current': slave.name === chosen ? 'true' : null },
        h('th', { scope: 'row', class: 'name' }, slave.name),
        h('td', { class: 'state' }, badge(slave.state), slave.reason && h('small', null, slave.reason)),
        h('td', null, `${slave.running} of ${slave.slots}`, builds.length > 0 && h('small', null, builds.map((id, i) => [i ? ', ' : '', buildLink({ id })]))),
        h('td', { class: 'wide words' }, (slave.pools ?? []).join(', ')),
        h('td', { class: 'wide words' }, (slave.labels ?? []).join(', ')),
        h('td', { class: 'wide words' }, platformText(slave.platform)),
        h('td', { class: 'wide' }, slave.version ?? '–'),
        h('td', { class: 'wide words' }, seen),
        h('td', { class: 'actions' }, slaveButton(slave, actions)));
}

function rowId(name) {
    return `slave-${name}`;
}

function slaveButton(slave, actions) {
    if (slave.state === 'draining' || slave.state === 'quarantined')
        return button('Resume', () => actions.resume(slave), { describe: `Resume ${slave.name}` });
    return button('Drain', () => actions.drain(slave), { describe: `Drain ${slave.name}` });
}

// The platform may be one text or a few facts.
function platformText(platform) {
    if (!platform)
        return '–';
    if (typeof platform === 'string')
        return platform;
    return Object.values(platform).filter((fact) => fact !== null && fact !== '').join(' ');
}
