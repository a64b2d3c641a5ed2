// alarms: reports of the same trouble, not more often than someone wants to read them.

/** Time between two reports, at least. */
const REPORT_INTERVAL_MS = 10_000

/** Reports the first error, and then at most one in each interval. */
export function throttled(report: (error: unknown) => void): (error: unknown) => void {
  let reportedAt = -Infinity
  return (error) => {
    if (performance.now() - reportedAt < REPORT_INTERVAL_MS) return
    reportedAt = performance.now()
    report(error)
  }
}
