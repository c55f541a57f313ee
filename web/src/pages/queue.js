// What waits, why, and until when; and the pools it waits for.

import { ask } from '../dialog.js';
import { withNamed } from '../grid.js';
import { h } from '../h.js';
import { ago, badge, bar, builderLink, button, buildLink, loaded, slaveLink, statusOf, table } from '../pieces.js';

const RELOAD_MS = 1000;

export function queuePage(app) {
    const state = { data: null, error: null, limit: 100 };
    let timer = null;

    async function load() {
        try {
            const [queue, pools, running] = await Promise.all([
                app.api.get(`/queue?limit=${state.limit}`),
                app.api.get('/pools?limit=1000'),
                app.api.get('/builds?state=running&limit=100'),
            ]);
            state.data = { queue: queue.queue, next: queue.next, pools: pools.pools, running: running.builds };
            state.error = null;
        } catch (error) {
            state.error = error;
        }
        app.draw();
    }

    // Every start and end moves positions and expected times, so the list is read anew, but not for each.
    function loadSoon() {
        timer ??= setTimeout(() => {
            timer = null;
            load();
        }, RELOAD_MS);
    }

    function onEvent(name, data) {
        if (name === 'pool' && state.data)
            state.data = { ...state.data, pools: withNamed(state.data.pools, data) };
        if (name === 'build' || name === 'pool' || name === 'slave' || name === 'config')
            loadSoon();
    }

    async function setPaused(pool, paused) {
        const changed = await app.act(() => app.api.post(`/pools/${encodeURIComponent(pool.name)}/${paused ? 'pause' : 'resume'}`));
        if (changed && state.data)
            state.data = { ...state.data, pools: withNamed(state.data.pools, changed) };
        loadSoon();
        app.draw();
    }

    async function cancel(entry) {
        const reason = await ask({ title: `Cancel build ${entry.build}`, label: 'Reason (optional)', action: 'Cancel the build' });
        if (reason === null)
            return;
        await app.act(() => app.api.post(`/builds/${entry.build}/cancel`, reason ? { reason } : {}));
        load();
    }

    function more() {
        state.limit = Math.min(1000, state.limit * 3);
        load();
    }

    return {
        title: 'Queue',
        load,
        onEvent,
        stop: () => clearTimeout(timer),
        view: () => [h('h1', null, 'Queue'), loaded(state, (data) => queueView(data, { setPaused, cancel, more }, app.now()))],
    };
}

export function queueView({ queue, next, pools, running }, actions, nowMs) {
    return [
        h('section', { key: 'pools' }, h('h2', null, 'Pools'), poolsTable(pools, actions)),
        running.length > 0 && h('section', { key: 'running' }, h('h2', null, 'Running'), runningList(running, nowMs)),
        h('section', { key: 'queue' },
            h('h2', null, 'Waiting, in the order in which they would start'),
            queueTable(queue, actions, nowMs),
            next !== null && next !== undefined && h('p', null, button('Show more', actions.more))),
    ];
}

function poolsTable(pools, actions) {
    const columns = [['Pool'], ['State'], ['Running'], ['Queued'], ['Slaves', 'wide'], ['Backlog', 'wide'], ['']];
    const rows = pools.map((pool) =>
        h('tr', { key: pool.name },
            h('th', { scope: 'row' }, pool.name),
            h('td', null, badge(pool.paused ? 'paused' : pool.running > 0 ? 'busy' : 'idle')),
            h('td', { class: 'number' }, `${pool.running} of ${pool.slots}`),
            h('td', { class: 'number' }, pool.queued),
            h('td', { class: 'number wide' }, slavesCount(pool.slaves)),
            h('td', { class: 'wide' }, pool.backlog ?? '–'),
            h('td', { class: 'actions' },
                pool.paused
                    ? button('Resume', () => actions.setPaused(pool, false), { describe: `Resume pool ${pool.name}` })
                    : button('Pause', () => actions.setPaused(pool, true), { describe: `Pause pool ${pool.name}` }))));
    return table('Pools', columns, rows, 'No pool is configured.');
}

function slavesCount(slaves) {
    return Array.isArray(slaves) ? slaves.length : slaves;
}

function runningList(builds, nowMs) {
    return h('ul', { class: 'running' },
        builds.map((build) =>
            h('li', { key: build.id },
                buildLink(build), ' ', builderLink(build.builder), ' ', build.branch, build.slave ? [' on ', slaveLink(build.slave)] : '', ' ',
                badge(statusOf(build)), bar(build, nowMs))));
}

function queueTable(queue, actions, nowMs) {
    const columns = [['Place'], ['Build'], ['Builder'], ['Branch'], ['Pool', 'wide'], ['Priority', 'wide'], ['Waits for'], ['Starts'], ['']];
    const rows = queue.map((entry) =>
        h('tr', { key: entry.build },
            h('td', { class: 'number' }, entry.position),
            h('th', { scope: 'row' }, buildLink({ id: entry.build })),
            h('td', { class: 'name' }, builderLink(entry.builder)),
            h('td', { class: 'name' }, entry.branch ?? '–'),
            h('td', { class: 'wide' }, entry.pool),
            h('td', { class: 'wide' }, entry.priority),
            h('td', { class: 'sentence' }, entry.waits_for ?? '–'),
            h('td', null, entry.starts_at ? ago(entry.starts_at, nowMs) : 'not known'),
            h('td', { class: 'actions' }, button('Cancel', () => actions.cancel(entry), { describe: `Cancel build ${entry.build}` }))));
    return table('Queue', columns, rows, 'Nothing waits.');
}
