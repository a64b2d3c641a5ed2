// model: logs what would be found again and again, such as a damaged record, once.

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
