// api: adds tags to a context, or removes them.
import { address, checkAddress } from './address.ts'
import { describeCall, type RequestOf } from './call.ts'
import { idempotencyKey, REPLAYED_HEADER, tags } from './fields.ts'
import { messageAnswer } from './terminate.ts'

export const ADD_TAGS = describeCall({
  id: 'addTags',
  summary: 'Add tags to a context',
  method: 'POST',
  route: '/flux-api/context/tag',
  role: 'invoke',
  problems: [404, 409, 422, 429],
  takesKey: true,
  answerHeaders: REPLAYED_HEADER,
  query: { ...address(), tag: tags('The tags. Repeat the parameter, or separate by commas') },
  internal: { idempotencyKey },
  together: checkAddress,
  content: ['tag', 'key'],
  answer: messageAnswer,
  answerExample: { message: "added 'team-7' to context 1" },
})

/** The same call by another HTTP method. */
export const PUT_TAGS = { ...ADD_TAGS, id: 'putTags', method: 'PUT' } as const

export const REMOVE_TAGS = {
  ...ADD_TAGS,
  id: 'removeTags',
  summary: 'Remove tags from a context',
  method: 'DELETE',
  answerExample: { message: "removed 'team-7' from context 1" },
} as const

export type TagRequest = RequestOf<typeof ADD_TAGS>
