// alarms: limits how often a recurring error is reported.

/** Minimum time between two reports. */
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
