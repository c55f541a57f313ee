// One build: how it stands, its steps, and the log of one of them as it grows.

import { ask } from '../dialog.js';
import { h, mounted } from '../h.js';
import { LogStore } from '../log_store.js';
import { LogView, logSize } from '../log_view.js';
import { statusOf } from '../pieces.js';
import { buildPath, stepPath } from '../route.js';
import { buildView, chosenStep, withStep } from './build_view.js';

export function buildPage(app, route) {
    return new BuildPage(app, route);
}

class BuildPage {
    constructor(app, route) {
        this.app = app;
        this.route = route;
        this.state = { data: null, error: null };
        this.log = null; // {key, store, view} of the step that is shown
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
        const { build, step, attempt } = this.route;
        try {
            const data = await api.get(`/builds/${build}`);
            const old = attempt && attempt !== data.attempt && step ? await api.get(`/builds/${build}/steps/${step}?attempt=${attempt}`) : null;
            this.state = { data, old, error: null };
        } catch (error) {
            this.state = { ...this.state, error };
        }
        this.syncLog();
        this.app.draw();
    }

    // An address of the same build needs no new page.
    onRoute(route) {
        if (route.page !== 'build' || route.build !== this.route.build)
            return false;
        const before = this.route;
        this.route = route;
        if (route.attempt !== before.attempt || (route.attempt && route.step !== before.step))
            this.load();
        else if (route.line && route.step === before.step)
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
            if (again || data.state === 'finished')
                this.load();
        } else if (name === 'step' && data.build === build.id && data.attempt === build.attempt) {
            this.state = { ...this.state, data: withStep(build, data.step) };
        } else if (name === 'log' && data.build === build.id && data.attempt === build.attempt) {
            this.grown(data);
            return;
        }
        this.syncLog();
    }

    grown(event) {
        const build = this.state.data;
        const step = build.steps?.find((other) => other.number === event.step);
        if (step && !step.log)
            this.state = { ...this.state, data: withStep(build, { ...step, log: { bytes: event.bytes, lines: event.lines } }) };
        if (this.log?.key === logKey(build.attempt, event.step))
            this.log.store.note(event);
        else
            this.syncLog();
        this.log?.view.changed();
        this.app.draw();
    }

    // Opens, keeps or closes the log view as the address and the steps say.
    syncLog() {
        const { data: build, old } = this.state;
        if (!build)
            return;
        const attempt = old ? this.route.attempt : build.attempt;
        const step = old ?? chosenStep(build, this.route.step);
        const key = step?.log ? logKey(attempt, step.number) : null;
        if (key !== this.log?.key)
            this.openLog(key, step, attempt);
        if (this.log && !this.log.store.complete)
            this.noteStep(step);
    }

    noteStep(step) {
        this.log.store.note({ bytes: step.log.bytes, lines: step.log.lines, complete: step.state === 'finished' });
        this.log.view.changed();
    }

    openLog(key, step, attempt) {
        this.log?.view.close();
        this.log = null;
        if (!key)
            return;
        const { api } = this.app;
        const { build, line } = this.route;
        const path = `/builds/${build}/steps/${step.number}/log`;
        const log = { key };
        log.store = new LogStore({
            get: (query, signal) => api.raw(`${path}?attempt=${attempt}&${query}`, { signal }),
            onChange: () => {
                log.view.changed();
                this.app.draw();
            },
        });
        log.view = new LogView({
            store: log.store,
            rawUrl: `/api/v1${path}?attempt=${attempt}`,
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
        history.replaceState(null, '', stepPath(this.route.build, step, { attempt: this.route.attempt, line }));
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

function logKey(attempt, step) {
    return `attempt ${attempt} step ${step}`;
}
