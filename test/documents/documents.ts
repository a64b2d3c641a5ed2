// The documents of the repository, and what is in them: headings, links, tables, and blocks of code with the file that
// the text names before each.
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'

export const ROOT = resolve(import.meta.dirname, '../..')

export interface Block {
  /** Path of the document within the repository. */
  readonly document: string
  readonly language: string
  readonly text: string
  /** The file below `actors` that the paragraph before it names, such as `shop/Approval.flux`; null if it names none. */
  readonly file: string | null
}

export interface Link {
  readonly document: string
  /** As it is written. */
  readonly target: string
  /** The file or folder within the repository. */
  readonly path: string
  /** null: the whole document. */
  readonly anchor: string | null
}

export interface Document {
  readonly path: string
  readonly text: string
  /** Rows of its tables. */
  readonly rows: readonly string[]
  readonly blocks: readonly Block[]
  readonly links: readonly Link[]
  /** What links may name after `#`. */
  readonly anchors: readonly string[]
}

const FENCE = /^```(\w*)\n(.*?)^```$/gms
const FOLDERS = ['actors', 'src', 'test']

/** Every document of the repository, that at its root first. */
export async function readDocuments(): Promise<Document[]> {
  const inside = await Promise.all(FOLDERS.map(filesIn))
  const paths = inside
    .flat()
    .filter((path) => path.endsWith('.md') && !path.includes('node_modules'))
    .sort()
  return Promise.all(
    ['README.md', ...paths].map(async (path) => {
      return readDocument(path, await readFile(join(ROOT, path), 'utf8'))
    }),
  )
}

/** Paths within the repository. */
export async function filesIn(folder: string): Promise<string[]> {
  const files = await readdir(join(ROOT, folder), { recursive: true })
  return files.map((file) => `${folder}/${file.replaceAll('\\', '/')}`)
}

/** Whether the block is a file of services, or a part of one. */
export const isFile = ({ file, language }: Block): boolean =>
  file !== null && (language === 'json' || language === 'ts')

/**
 * Adds a block to the files that a document has shown so far. A later block of a service shows only what changes: its
 * states replace those of the same name or are added, and so do its other keys.
 */
export function withBlock(files: Readonly<Record<string, string>>, { file, language, text }: Block) {
  const before = files[file ?? '']
  const isPart = language === 'json' && before !== undefined
  return { ...files, [file ?? '']: isPart ? JSON.stringify(merged(JSON.parse(before), JSON.parse(text))) : text }
}

interface Service {
  readonly states?: readonly { readonly name: string }[]
}

function merged(before: Service, { states = [], ...others }: Service): Service {
  const all = new Map([...(before.states ?? []), ...states].map((state) => [state.name, state]))
  return { ...before, ...others, states: [...all.values()] }
}

function readDocument(path: string, text: string): Document {
  const prose = text.replaceAll(FENCE, '')
  return {
    path,
    text,
    rows: prose.split('\n').filter((line) => line.startsWith('|')),
    blocks: Array.from(text.matchAll(FENCE), ({ 1: language = '', 2: code = '', index }) => {
      return { document: path, language, text: code, file: fileNamedIn(text.slice(0, index)) }
    }),
    links: Array.from(prose.matchAll(/\]\((?!https?:)([^)]+)\)/g), ({ 1: target = '' }) => readLink(path, target)),
    anchors: anchorsOf(prose),
  }
}

/** In the last paragraph. */
function fileNamedIn(before: string): string | null {
  const paragraph = before.trimEnd().split('\n\n').at(-1) ?? ''
  return /`actors\/([\w./-]+\.\w+)`/.exec(paragraph)?.[1] ?? null
}

function readLink(document: string, target: string): Link {
  const [file = '', anchor = null] = target.split('#')
  return { document, target, path: file === '' ? document : join(dirname(document), file), anchor }
}

/** As GitHub makes them of headings. */
function anchorsOf(prose: string): string[] {
  const seen = new Map<string, number>()
  return Array.from(prose.matchAll(/^#+ (.*)$/gm), ({ 1: heading = '' }) => {
    const anchor = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-')
    const count = seen.get(anchor) ?? 0
    seen.set(anchor, count + 1)
    return count === 0 ? anchor : `${anchor}-${count}`
  })
}
