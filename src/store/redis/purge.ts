// store/redis: deletes finished contexts, partition by partition.
import type { PartitionClient } from './partition-client.ts'
import { texts } from './scripts.ts'

/** Contexts deleted by one script: others want to be served too. */
const BULK = 100

/** As `Store.purge`. */
export async function purge(
  client: PartitionClient,
  partitions: number,
  { endedBefore, limit }: { readonly endedBefore: number; readonly limit: number },
): Promise<number> {
  let purged = 0
  for (let partition = 0; partition < partitions; partition += 1) {
    for (let passed = 0; purged < limit;) {
      const look = Math.min(BULK, limit - purged)
      const [deleted = 0, stayed = 0] = texts(await client.run('purge', partition, [endedBefore, look, passed])).map(
        Number,
      )
      purged += deleted
      passed += stayed
      if (deleted + stayed < look) break
    }
  }
  return purged
}
