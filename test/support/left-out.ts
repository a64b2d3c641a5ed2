// The last line of a run of the core: how many tests it has run, and what it has left out.
import { readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Reporter, TestModule, Vitest } from 'vitest/node'

const TESTS = resolve(import.meta.dirname, '..')

export class CoreLine implements Reporter {
  #vitest: Vitest | null = null

  onInit(vitest: Vitest): void {
    this.#vitest = vitest
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const { projects = [] } = this.#vitest ?? {}
    const files = readdirSync(TESTS, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.test.ts'))
    const leftOut = files.filter((file) => !projects.some((project) => project.matchesTestGlob(resolve(TESTS, file))))
    const count = modules.reduce((sum, { children }) => sum + [...children.allTests()].length, 0).toLocaleString('en')
    console.log(
      `core: ${count} tests; \`npm run test:all\` also runs ${leftOut.length} of the ${files.length} files, left out here`,
    )
  }
}
