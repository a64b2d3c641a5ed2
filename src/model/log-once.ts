// model: logs what would be found again and again: a damaged record once, a fault that lasts now and then.

/** Maximum number of texts that are remembered for a log; further ones are not logged. */
const MAX_LOGGED = 10_000

interface ErrorLog {
  error(text: string, fields?: object): void
}

const loggedTo = new WeakMap<ErrorLog, Set<string>>()

/** Logs an error if the log has not been given that text before. The text must name what is concerned. */
export function logOnce(log: ErrorLog, text: string, fields: object): void {
  const logged = loggedTo.get(log) ?? new Set()
  loggedTo.set(log, logged)
  if (logged.has(text) || logged.size >= MAX_LOGGED) return
  logged.add(text)
  log.error(text, fields)
}

/** Minimum time between two reports of a recurring error. */
const REPORT_INTERVAL_MS = 10_000

/** Wraps `report`: it gets the first error, and then at most one in each interval. Other errors are dropped. */
export function throttled(report: (error: unknown) => void): (error: unknown) => void {
  let reportedAt = -Infinity
  return (error) => {
    if (performance.now() - reportedAt < REPORT_INTERVAL_MS) return
    reportedAt = performance.now()
    report(error)
  }
}
