// store/lmdb: checks whether a data file may be opened. lmdb has no checksums: it serves a damaged file in part, or as
// empty, or crashes.
//
// - Examined before it is opened (`inspect.ts`). lmdb has no checksums: it serves a damaged file as empty, or in part,
//   or ends the process. So `page-file.ts` reads the file page by page without lmdb (many pages at once where they
//   follow each other), and `page-walk.ts` follows all trees from the newer meta page. Each page must have the number
//   of its position, belong to a completed transaction, lie within the file, and be used once, and the number of
//   records must be the one that lmdb counted. The size of the file alone is no criterion: lmdb does not write pages
//   that a transaction took and gave back, so a complete file may be shorter than its page count.
import { DataFolderError, fileBytesOf } from '../data-folder.ts'
import { PageFile } from './page-file.ts'
import { type Walk, walkAll } from './page-walk.ts'
import { messageOf } from '../../../model/error-message.ts'

/** What to do about damage, for messages. */
export const ADVICE =
  'restore a backup of the data folder, or write what can be read into a new one: actorflux doctor --salvage <new folder>'

export const noFormat = (file: string): string =>
  `the data in ${file} has no format: it is not ours, or a part of it is lost; ${ADVICE}`

/** The database that contains the number of the format. */
export const META = 'meta'

/**
 * Examines every page of the file, and lets the event loop serve others in between.
 * @param marked whether the folder has contained data
 * @returns whether there is data
 * @throws DataFolderError that says in one line what is wrong and what to do
 */
export async function inspect(file: string, marked: boolean): Promise<boolean> {
  if (fileBytesOf(file) === 0) {
    if (!marked) return false
    const advice = 'restore a backup of the data folder, or remove the folder to begin anew'
    throw new DataFolderError(`the data file ${file} is gone or empty, and it was not: ${advice}`)
  }
  const { damage, counted } = await walkOf(file)
  const [first] = damage
  if (first !== undefined) {
    const more = damage.length > 1 ? ` (and ${damage.length - 1} more)` : ''
    throw new DataFolderError(`the data in ${file} is damaged: ${first}${more}; ${ADVICE}`)
  }
  // A process that is killed while it creates the file leaves an empty one.
  const records = [...counted.values()].reduce((sum, count) => sum + count, 0)
  if ((counted.get(META) ?? 0) > 0) return true
  if (marked || records > 0) throw new DataFolderError(noFormat(file))
  return false
}

/** @throws DataFolderError when the file can't be read at all, or is none of lmdb */
async function walkOf(file: string): Promise<Walk> {
  let pages: PageFile
  try {
    pages = new PageFile(file)
  } catch (error) {
    throw new DataFolderError(`the data in ${file} can't be read: ${messageOf(error)}`, { cause: error })
  }
  try {
    if (pages.meta === null)
      throw new DataFolderError(`the data in ${file} can't be opened: it is no database; ${ADVICE}`)
    return await walkAll(pages)
  } finally {
    pages.close()
  }
}
