// A process of its own that trusts what its environment says: Node reads that only once. Prints the answer. Usage:
// https-child.ts <url>
import { httpRequest } from '../../src/steps/builtin/http/request.ts'

const { signal } = new AbortController()
const { status, body } = await httpRequest({ allowPrivate: true })({ url: process.argv[2] ?? '' }, { signal })
process.stdout.write(JSON.stringify({ status, body }))
