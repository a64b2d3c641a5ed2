// What the core leaves out: a runner that counts the tests of its files and runs none, and a reporter whose line is the
// last of a run of the core.
import { TestRunner } from 'vitest'
import type { Reporter, TestModule } from 'vitest/node'

/** The project of what is left out. */
export const LEFT_OUT = 'left out'

/** No name matches it. */
const NO_TEST = /(?!)/

export default class CountingRunner extends TestRunner {
  constructor(config: ConstructorParameters<typeof TestRunner>[0]) {
    super({ ...config, testNamePattern: NO_TEST })
  }
}

const countOf = (modules: readonly TestModule[]) =>
  modules.reduce((sum, { children }) => sum + [...children.allTests()].length, 0)

export class CoreLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const all = countOf(modules)
    const leftOut = countOf(modules.filter(({ project }) => project.name === LEFT_OUT))
    if (leftOut === 0) return
    const [core, total] = [all - leftOut, all].map((count) => count.toLocaleString('en'))
    console.log(`core: ${core} of ${total} tests; \`npm run test:all\` runs the rest`)
  }
}
