// store/lmdb: walks through all pages that the trees of a data file lead to, and records what is wrong with them.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { PageFile } from './page-file.ts'
import { childrenOf, nodesOf, overflowsOf, type Page, PageError, type Tree, TREE_BYTES, treeAt } from './page-layout.ts'

/** Pages that are read until the event loop serves others: a few milliseconds of work. */
const STRIDE = 500

/** Most trees that a walk follows; a data file has eight. */
const MOST_TREES = 200

/** Most lines of damage that are kept. */
const MOST_DAMAGE = 1000

/** The result of a walk. */
export interface Walk {
  /** A line for each page or value that cannot be read, up to a limit. */
  readonly damage: string[]
  /** For each page, the index of its tree in `trees`; 0: no tree leads to it. */
  readonly used: Uint8Array
  /** The names of the trees; databases have their own names. */
  readonly trees: readonly string[]
  /** The number of records of each database, by its name, as counted by lmdb. */
  readonly counted: Map<string, number>
}

/** The names of the first two trees. */
export const FREE_PAGES = 'the list of free pages'
const DATABASES = 'the list of databases'

/** Walks through all databases of the file, and lets the event loop serve others in between. */
export async function walkAll(file: PageFile): Promise<Walk> {
  const walk = {
    damage: [...file.damage],
    used: new Uint8Array(Math.max(file.pages, 2)),
    trees: ['', FREE_PAGES, DATABASES],
    counted: new Map<string, number>(),
  }
  if (file.meta === null) return walk
  walk.used.fill(1, 0, 2)
  await walkTree(file, walk, 1, file.meta.free, () => {})
  const found: { name: string; tree: Tree }[] = []
  await walkTree(file, walk, 2, file.meta.main, (number) => found.push(...treesIn(file.page(number))))
  for (const { name, tree } of found.slice(0, MOST_TREES)) {
    walk.counted.set(name, tree.entries)
    await walkTree(file, walk, walk.trees.push(name) - 1, tree, () => {})
  }
  return walk
}

const treesIn = (leaf: Page): { name: string; tree: Tree }[] =>
  nodesOf(leaf).flatMap(({ key, data, isTree }) =>
    isTree && data.length === TREE_BYTES ? { name: nameOf(key), tree: treeAt(data) } : [],
  )

/** The name of a database. lmdb-js ends it with a zero byte. */
const nameOf = (key: Buffer): string => key.toString('latin1').replace(/\0$/, '')

async function walkTree(
  file: PageFile,
  walk: Walk,
  number: number,
  tree: Tree,
  onLeaf: (number: number) => void,
): Promise<void> {
  const name = walk.trees[number] ?? ''
  const what = number > 2 ? `the database '${name}'` : name
  let [entries, steps, faults] = [0, 0, 0]
  const open = tree.depth > 0 ? [{ at: tree.root, level: 1 }] : []
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { at, level } = next
    try {
      const page = file.pageInOrder(at)
      use(walk, number, at, 1)
      if ((page.kind === 'leaf') !== (level === tree.depth))
        throw new PageError(`page ${at} is at the wrong level of its tree`)
      if (page.kind === 'branch')
        for (const child of childrenOf(page).toReversed()) open.push({ at: child, level: level + 1 })
      else {
        entries += page.offsets.length
        onLeaf(at)
        for (const overflow of overflowsOf(page)) {
          file.checkOverflow(overflow)
          use(walk, number, overflow.page, overflow.pages)
        }
      }
    } catch (error) {
      if (!(error instanceof PageError)) throw error
      faults += 1
      if (walk.damage.length < MOST_DAMAGE) walk.damage.push(`${what}: ${error.message}`)
    }
    if (++steps % STRIDE === 0) await nextTurn()
  }
  if (faults === 0 && entries !== tree.entries)
    walk.damage.push(`${what} has ${entries} records, and ${tree.entries} were counted`)
}

/** Marks pages as used by a tree. @throws PageError when the trees lead to one of them twice */
function use({ used }: Walk, tree: number, first: number, count: number): void {
  for (let page = first; page < first + count; page++) {
    if (used[page] !== 0) throw new PageError(`page ${page} is in use twice`)
    used[page] = tree
  }
}
