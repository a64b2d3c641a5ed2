// A server's part in `scripts-process.test.ts`: a process whose script is endless in a place where nothing can
// interrupt it. Says when the first script has run.
import { stepRunner } from '../../src/steps/runner.ts'
import { silent } from '../support/silent.ts'

const runner = stepRunner({ log: silent })
const call = { names: async () => '{}', signal: new AbortController().signal, timeout: 60_000 }
await runner.runScript({ ...call, script: 'return 1' })
process.stdout.write('ready\n')
await runner.runScript({ ...call, script: 'return Array.prototype.indexOf.call({ length: 2 ** 53 }, 1)' })
