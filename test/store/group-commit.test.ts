import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { type Group, GroupCommit } from '../../src/store/lmdb/group-commit.ts'
import { nextTurn } from '../support/held.ts'

/** Counts to what it is told; a group adds to what is durable, when the test lets it. */
class Counter {
  durable = 0
  readonly groups: { readonly written: Group; readonly sum: number; finish(): void; fail(error: Error): void }[] = []

  begin(): Group & { add(number: number): number } {
    const { durable } = this
    let sum = durable
    const written = {
      get full() {
        return sum - durable >= 99
      },
      add: (number: number) => (sum += number),
      write: () =>
        new Promise<void>((finish, fail) => {
          this.groups.push({ written, sum, finish, fail })
        }),
      adopt: () => {
        this.durable = sum
      },
    }
    return written
  }

  /** The group that is being written, the how-manieth ever. */
  async group(number: number): Promise<Counter['groups'][number]> {
    for (;;) {
      const group = this.groups[number - 1]
      if (group !== undefined) return group
      await nextTurn()
    }
  }
}

describe('a group commit', () => {
  it('writes what comes together together', async () => {
    const counter = new Counter()
    const commits = new GroupCommit(() => counter.begin())
    const sums = Promise.all([1, 2, 3].map((number) => commits.run((group) => group.add(number))))
    ;(await counter.group(1)).finish()
    expect(await sums).toEqual([1, 3, 6])
    expect(counter.groups).toHaveLength(1)
  })

  it('leaves to the next group what comes after one is full, in order', async () => {
    const counter = new Counter()
    const commits = new GroupCommit(() => counter.begin())
    const sums = Promise.all([1, 99, 100, 3].map((number) => commits.run((group) => group.add(number))))
    ;(await counter.group(1)).finish()
    ;(await counter.group(2)).finish()
    ;(await counter.group(3)).finish()
    expect(await sums).toEqual([1, 100, 200, 203])
    expect(counter.groups.map(({ sum }) => sum)).toEqual([100, 200, 203])
  })

  it.each(['finishes', 'fails'] as const)(
    'keeps who reads what it writes until it %s, and nobody else',
    async (how) => {
      const counter = new Counter()
      const commits = new GroupCommit(() => counter.begin())
      await commits.settled(() => true)
      const sum = commits.run((group) => group.add(5)).catch(() => 0)
      const group = await counter.group(1)
      await commits.settled(() => false)
      let durable: number | null = null
      const reading = commits
        .settled((written) => written === group.written)
        .finally(() => {
          durable = counter.durable
        })
      await nextTurn()
      expect(durable).toBeNull()
      if (how === 'finishes') group.finish()
      else group.fail(new Error('disk full'))
      await reading
      expect(durable).toBe(how === 'finishes' ? 5 : 0)
      expect(await sum).toBe(how === 'finishes' ? 5 : 0)
      await commits.settled(() => true)
    },
  )

  it('answers and shows nothing before it is durable', async () => {
    const counter = new Counter()
    const commits = new GroupCommit(() => counter.begin())
    let answered = false
    const sum = commits
      .run((group) => group.add(5))
      .finally(() => {
        answered = true
      })
    const group = await counter.group(1)
    await sleep(20)
    expect([answered, counter.durable]).toEqual([false, 0])
    group.finish()
    expect(await sum).toBe(5)
    expect(counter.durable).toBe(5)
  })

  it('decides the next group only when the one before is durable', async () => {
    const counter = new Counter()
    const commits = new GroupCommit(() => counter.begin())
    const first = commits.run((group) => group.add(1))
    const group = await counter.group(1)
    let decided = false
    const second = commits.run((next) => {
      decided = true
      return next.add(10)
    })
    await sleep(20)
    expect(decided).toBe(false)
    group.finish()
    expect(await first).toBe(1)
    ;(await counter.group(2)).finish()
    expect(await second).toBe(11)
  })

  it('rejects all of a group that fails, and decides what waited as if that had never been', async () => {
    const counter = new Counter()
    const commits = new GroupCommit(() => counter.begin())
    const lost = Promise.allSettled([1, 2].map((number) => commits.run((group) => group.add(number))))
    const group = await counter.group(1)
    const next = commits.run((later) => later.add(10))
    group.fail(new Error('the disk is full'))
    expect((await lost).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    ;(await counter.group(2)).finish()
    expect(await next).toBe(10)
    expect(counter.durable).toBe(10)
  })

  it('rejects all of a group that can not be shown, and goes on', async () => {
    const counter = new Counter()
    let isBroken = true
    const commits = new GroupCommit(() => {
      const group = counter.begin()
      const adopt = () => {
        if (isBroken) throw new Error('a fault')
        group.adopt()
      }
      return { ...group, full: false, adopt }
    })
    const lost = commits.run((group) => group.add(1))
    ;(await counter.group(1)).finish()
    await expect(lost).rejects.toMatchObject({ failure: { kind: 'unavailable', inDoubt: true } })
    isBroken = false
    const next = commits.run((group) => group.add(2))
    ;(await counter.group(2)).finish()
    expect(await next).toBe(2)
  })

  it('lets a decision that throws fail alone', async () => {
    const counter = new Counter()
    const commits = new GroupCommit(() => counter.begin())
    const results = Promise.allSettled([
      commits.run((group) => group.add(1)),
      commits.run(() => {
        throw new Error('no')
      }),
      commits.run((group) => group.add(2)),
    ])
    ;(await counter.group(1)).finish()
    expect(await results).toMatchObject([{ value: 1 }, { status: 'rejected' }, { value: 3 }])
  })

  it('answers what it took before it is closed, and takes no more', async () => {
    const counter = new Counter()
    const commits = new GroupCommit(() => counter.begin())
    const sum = commits.run((group) => group.add(4))
    let closed = false
    const closing = commits.close().finally(() => {
      closed = true
    })
    await expect(commits.run((group) => group.add(1))).rejects.toMatchObject({ failure: { kind: 'unavailable' } })
    const group = await counter.group(1)
    expect(closed).toBe(false)
    group.finish()
    await closing
    expect(await sum).toBe(4)
  })
})
