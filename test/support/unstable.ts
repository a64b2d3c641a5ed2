// Reporter: names the tests that passed only when they were tried again, and why they had failed.
import type { Reporter, TestCase } from 'vitest/node'

export class Unstable implements Reporter {
  readonly #lines: string[] = []

  onTestCaseResult(test: TestCase): void {
    if (test.diagnostic()?.flaky !== true) return
    const [error] = test.result().errors ?? []
    this.#lines.push(`${test.module.relativeModuleId}: ${test.fullName}: ${error?.message ?? ''}`)
  }

  onTestRunEnd(): void {
    for (const line of this.#lines) console.log(`passed at the second try: ${line}`)
  }
}
