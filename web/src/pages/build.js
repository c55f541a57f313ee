// One build: how it stands, its steps, and the log of one of them as it grows.

import { ask } from '../dialog.js';
import { h, mounted } from '../h.js';
import { LogStore } from '../log_store.js';
import { LogView, logSize } from '../log_view.js';
import { statusOf } from '../pieces.js';
import { buildPath, stepPath } from '../route.js';
import { readExtras } from './build_extras.js';
import { buildView, chosenStep, oldOf, streamOf, withStep } from './build_view.js';

const STEP_MS = 1000; // a running step is read so soon after its standard error has grown
const STEP_LAZY_MS = 5000; // and so soon after that may have happened
const SET_MS = 10000; // between two looks at the set's other builds

export function buildPage(app, route) {
    return new BuildPage(app, route);
}

class BuildPage {
    constructor(app, route) {
        this.app = app;
        this.route = route;
        this.state = { data: null, old: null, extra: null, error: null };
        this.log = null; // {key, store, view} of the log that is shown
        this.events = `build=${route.build}`;
        this.actions = {
            cancel: () => this.cancel(),
            rebuild: () => this.rebuild(),
            follow: (on) => this.log?.view.follow(on),
        };
    }

    get title() {
        const build = this.state.data;
        return build ? `${statusOf(build)}: ${build.builder} #${build.id}` : `Build ${this.route.build}`;
    }

    async load() {
        const { api } = this.app;
        const { build, attempt } = this.route;
        try {
            const data = await api.get(`/builds/${build}`);
            const old = attempt && attempt !== data.attempt ? await this.readOld(data, attempt) : null;
            this.state = { ...this.state, data, old, error: null };
            this.loadExtras();
        } catch (error) {
            this.state = { ...this.state, error };
        }
        this.syncLog();
        this.app.draw();
    }

    // The steps of an earlier attempt, as far as it got.
    async readOld({ id, steps }, attempt) {
        const numbers = new Set((steps ?? []).map((step) => step.number));
        if (this.route.step)
            numbers.add(this.route.step);
        const read = [...numbers].map((number) => this.app.api.get(`/builds/${id}/steps/${number}?attempt=${attempt}`).catch(absent));
        return { attempt, steps: (await Promise.all(read)).filter(Boolean) };
    }

    async loadExtras() {
        clearTimeout(this.extrasTimer);
        const { data } = this.state;
        const attempt = oldOf(this.state, this.route)?.attempt ?? data.attempt;
        const before = this.extrasAttempt === attempt ? this.state.extra : { change: this.state.extra?.change };
        const extra = await readExtras(this.app.api, data, attempt, before);
        if (this.stopped)
            return;
        this.extrasAttempt = attempt;
        this.state = { ...this.state, extra };
        // The events of this page are about its own build only.
        if (extra.set && !extra.set.finished_at)
            this.loadExtrasIn(SET_MS);
        this.app.draw();
    }

    loadExtrasIn(ms) {
        clearTimeout(this.extrasTimer);
        this.extrasTimer = setTimeout(() => (document.hidden ? this.loadExtrasIn(ms) : this.loadExtras()), ms);
    }

    // An address of the same build needs no new page.
    onRoute(route) {
        if (route.page !== 'build' || route.build !== this.route.build)
            return false;
        const before = this.route;
        this.route = route;
        if (route.attempt !== before.attempt)
            this.load();
        else if (route.line && route.step === before.step && route.stream === before.stream)
            this.log?.view.show(route.line);
        this.syncLog();
        return true;
    }

    onEvent(name, data) {
        const build = this.state.data;
        if (!build)
            return;
        if (name === 'build' && data.id === build.id) {
            const again = data.attempt !== build.attempt;
            this.state = { ...this.state, data: { ...build, ...data, steps: build.steps } };
            if (again || data.state !== build.state)
                this.load();
        } else if (name === 'step' && data.build === build.id && data.attempt === build.attempt) {
            this.state = { ...this.state, data: withStep(build, data.step) };
            if (data.step.kind === 'benchmark' && data.step.state === 'finished')
                this.loadExtras();
        } else if (name === 'log' && data.build === build.id && data.attempt === build.attempt) {
            this.grown(data);
            return;
        }
        this.syncLog();
    }

    grown(event) {
        const build = this.state.data;
        const step = build.steps?.find((other) => other.number === event.step);
        if (!step)
            return;
        // An event counts the bytes of the output only; how much went to standard error, the step says.
        if (event.bytes > (step.log?.bytes ?? 0))
            this.state = { ...this.state, data: withStep(build, { ...step, log: { ...step.log, bytes: event.bytes, lines: event.lines } }) };
        const isWanted = event.bytes === (step.log?.bytes ?? 0) || this.log?.key === logKey(build.attempt, step.number, 'stderr');
        this.readStepIn(isWanted ? STEP_MS : STEP_LAZY_MS, step.number);
        this.syncLog();
        this.app.draw();
    }

    readStepIn(ms, number) {
        this.stepTimer ??= setTimeout(async () => {
            this.stepTimer = null;
            const { id, attempt } = this.state.data;
            const step = await this.app.api.get(`/builds/${id}/steps/${number}?attempt=${attempt}`).catch(() => null);
            if (!step || this.stopped || this.state.data.attempt !== attempt)
                return;
            this.state = { ...this.state, data: withStep(this.state.data, step) };
            this.syncLog();
            this.app.draw();
        }, ms);
    }

    // Opens, keeps or closes the log view as the address and the steps say.
    syncLog() {
        const { data: build } = this.state;
        if (!build)
            return;
        const old = oldOf(this.state, this.route);
        const attempt = old?.attempt ?? build.attempt;
        const step = chosenStep(old ?? build, this.route.step);
        const stream = step && streamOf(step, this.route);
        const size = step && (stream === 'log' ? step.log : step.stderr);
        const key = size ? logKey(attempt, step.number, stream) : null;
        if (key !== this.log?.key)
            this.openLog(key, { step, attempt, stream });
        if (this.log && !this.log.store.complete) {
            this.log.store.note({ bytes: size.bytes, lines: size.lines, complete: step.state === 'finished' });
            this.log.view.changed();
        }
    }

    openLog(key, { step, attempt, stream }) {
        this.log?.view.close();
        this.log = null;
        if (!key)
            return;
        const { api } = this.app;
        const { build, line } = this.route;
        const path = `/builds/${build}/steps/${step.number}/log?attempt=${attempt}` + (stream === 'log' ? '' : `&stream=${stream}`);
        const log = { key };
        log.store = new LogStore({
            get: (query, signal) => api.raw(`${path}&${query}`, { signal }),
            onChange: () => {
                log.view.changed();
                this.app.draw();
            },
        });
        log.view = new LogView({
            store: log.store,
            rawUrl: `/api/v1${path}`,
            onLine: (n) => this.stay(step.number, n),
            onFollow: (on) => {
                if (!on && this.route.step === null)
                    this.stay(step.number, null);
                this.app.draw();
            },
        });
        this.log = log;
        log.store.open();
        if (line && step.number === this.route.step)
            log.view.show(line);
        else
            log.view.follow(step.state !== 'finished' || step.result !== 'success');
    }

    // Somebody reads this step: the page no longer goes on to the next one by itself.
    stay(step, line) {
        this.route = { ...this.route, step, line };
        const { build, attempt, stream } = this.route;
        history.replaceState(null, '', stepPath(build, step, { attempt, stream, line }));
    }

    async cancel() {
        const { id } = this.state.data;
        const reason = await ask({ title: `Cancel build ${id}`, label: 'Reason (optional)', action: 'Cancel the build' });
        if (reason === null)
            return;
        const build = await this.app.act(() => this.app.api.post(`/builds/${id}/cancel`, reason ? { reason } : {}));
        if (build)
            this.load();
    }

    async rebuild() {
        const build = await this.app.act(() => this.app.api.post(`/builds/${this.state.data.id}/rebuild`));
        if (build)
            this.app.go(buildPath(build.id));
    }

    stop() {
        this.stopped = true;
        clearTimeout(this.extrasTimer);
        clearTimeout(this.stepTimer);
        this.log?.view.close();
    }

    view() {
        const log = this.log && {
            key: this.log.key,
            body: mounted(this.log.view.element),
            size: logSize(this.log.store),
            rawUrl: this.log.view.rawUrl,
            following: this.log.view.following,
            growing: !this.log.store.complete,
        };
        return buildView(this.state, this.route, log, this.actions, this.app.now());
    }
}

function logKey(attempt, step, stream) {
    return `attempt ${attempt} step ${step} ${stream}`;
}

// What the API has nothing of is null; other errors stay errors.
function absent(error) {
    if (error.status === 404)
        return null;
    throw error;
}
