// pinned: keeps what this version of the program writes, in a folder of that version: `npm run pin`. What an earlier one left stays as it is.
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { writeVersion } from './corpus.ts'
import { examine } from './examine.ts'
import { filledFolder } from './fill.ts'
import { writeCorpus } from './scenario.ts'
import { newFolder } from '../../recorded/server.ts'

const { version } = z.object({ version: z.string() }).parse(JSON.parse(await readFile(join(import.meta.dirname, '../../../package.json'), 'utf8')))
const [name = version.replace(/\.\d+$/, '')] = process.argv.slice(2)

const { corpus, folder } = await writeCorpus(await newFolder())
const data = new Map<string, Buffer>()
for (const file of await readdir(join(folder, 'data'))) data.set(file, await readFile(join(folder, 'data', file)))
await rm(folder, { recursive: true })
await writeVersion(name, { corpus, expected: await examine(corpus, await filledFolder(corpus)), data })
console.log(`version ${name}: ${corpus.definitions.length} definitions and ${corpus.records.length} records are pinned`)
