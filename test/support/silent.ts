// What says nothing and hears nothing.
import type { CommitFeed } from '../../src/ports/feeds.ts'
import type { Log } from '../../src/ports/log.ts'

export const silent: Log = { trace() {}, debug() {}, info() {}, warn() {}, error() {} }

/** Of a server that hears of no other one. */
export const SILENT_FEED: CommitFeed = {
  notify() {},
  onNotified() {},
  notifyReady() {},
  onReady() {},
  watch() {},
  onWatched() {},
  close: () => Promise.resolve(),
}
