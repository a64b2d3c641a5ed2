// pinned: keeps what this version of the program writes, in a folder of that version: `npm run pin`. What an earlier
// one left stays as it is. `npm run pin -- 0.3` writes down anew what the records of 0.3 come to, after behaviour was
// changed on purpose.
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { newFolder } from '../../recorded/server.ts'
import { startRedis } from '../../support/redis.ts'
import { readCorpus, writeExpected, writeVersion } from './corpus.ts'
import { examine } from './examine.ts'
import { filledFolder, openData } from './fill.ts'
import { writeNamespace } from './redis.ts'
import { writeCorpus } from './scenario.ts'

const PACKAGE = join(import.meta.dirname, '../../../package.json')
const Package = z.object({ version: z.string() })

const [earlier] = process.argv.slice(2)
if (earlier === undefined) await pin()
else {
  const corpus = await readCorpus(earlier)
  await writeExpected(earlier, await examine(corpus, await filledFolder(corpus)))
}

async function pin(): Promise<void> {
  const { version } = Package.parse(JSON.parse(await readFile(PACKAGE, 'utf8')))
  const name = version.replace(/\.\d+$/, '')
  const { corpus, folder } = await writeCorpus(await newFolder())
  const data = new Map<string, Buffer>()
  for (const file of await readdir(join(folder, 'data'))) data.set(file, await readFile(join(folder, 'data', file)))
  const [redis, store] = [await startRedis(), await openData(folder, corpus)]
  const commands = await writeNamespace(redis.url, corpus, store)
  await Promise.all([redis.close(), store.close()])
  await rm(folder, { recursive: true })
  await writeVersion(name, { corpus, expected: await examine(corpus, await filledFolder(corpus)), data, commands })
  const { definitions, records } = corpus
  console.log(`version ${name}: ${definitions.length} definitions and ${records.length} records are pinned`)
}
