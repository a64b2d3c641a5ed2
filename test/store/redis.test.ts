// The store on a lone Redis, in one partition: the contract.
import { inject } from 'vitest'
import { explore } from '../../src/store/redis/connection.ts'
import { storeContract } from './contract.ts'
import { openOn } from './redis-opened.ts'

storeContract('Redis', async () => openOn(await explore(inject('redisUrl')), 1))
