// The machines: what each does, and taking one out of work.

import { ask } from '../dialog.js';
import { withNamed } from '../grid.js';
import { h } from '../h.js';
import { ago, badge, button, buildLink, loaded, table } from '../pieces.js';

export function slavesPage(app) {
    const state = { data: null, error: null };

    async function load() {
        try {
            state.data = (await app.api.get('/slaves?limit=1000')).slaves;
            state.error = null;
        } catch (error) {
            state.error = error;
        }
        app.draw();
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
        view: () => [
            h('h1', null, 'Slaves'),
            loaded(state, (slaves) => slavesView(slaves, { drain, resume: (slave) => change(slave, 'resume', {}) }, app.now())),
        ],
    };
}

export function slavesView(slaves, actions, nowMs) {
    const columns = [['Slave'], ['State'], ['Running'], ['Pools', 'wide'], ['Labels', 'wide'], ['Platform', 'wide'], ['Version', 'wide'], ['Seen', 'wide'], ['']];
    return table('Slaves', columns, slaves.map((slave) => slaveRow(slave, actions, nowMs)), 'No slave is configured.');
}

function slaveRow(slave, actions, nowMs) {
    const builds = slave.builds ?? [];
    const seen = slave.state === 'offline' ? ago(slave.last_seen_at, nowMs) : h('span', null, 'connected ', ago(slave.connected_at, nowMs));
    return h('tr', { key: slave.name },
        h('th', { scope: 'row' }, slave.name),
        h('td', null, badge(slave.state), slave.reason && h('small', null, slave.reason)),
        h('td', null, `${slave.running} of ${slave.slots}`, builds.length > 0 && h('small', null, builds.map((id, i) => [i ? ', ' : '', buildLink({ id })]))),
        h('td', { class: 'wide' }, (slave.pools ?? []).join(', ')),
        h('td', { class: 'wide' }, (slave.labels ?? []).join(', ')),
        h('td', { class: 'wide' }, platformText(slave.platform)),
        h('td', { class: 'wide' }, slave.version ?? '–'),
        h('td', { class: 'wide' }, seen),
        h('td', { class: 'actions' }, slaveButton(slave, actions)));
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
