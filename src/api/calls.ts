// api: all calls.
import type { Call } from './call.ts'
import { COUNT_CONTEXTS } from './count-contexts.ts'
import { EXECUTE } from './execute.ts'
import { GET_CONTEXT_EVENTS } from './get-context-events.ts'
import { GET_CONTEXT } from './get-context.ts'
import { GET_DEFINITION } from './get-definition.ts'
import { GET_EVENT } from './get-event.ts'
import { GET_OPERATIONS } from './get-operations.ts'
import { GET_SERVICE_SCHEMA } from './get-service-schema.ts'
import { GET_MACHINE } from './get-machine.ts'
import { GET_STATE } from './get-state.ts'
import { LIST_CONTEXTS } from './list-contexts.ts'
import { LIST_DELIVERIES } from './list-deliveries.ts'
import { LIST_PENDING } from './list-pending.ts'
import { LIST_SERVICES } from './list-services.ts'
import { LIST_WEBHOOKS } from './list-webhooks.ts'
import { PAUSE } from './pause-context.ts'
import { REPLAY_DELIVERY } from './replay-delivery.ts'
import { RESUME } from './resume-context.ts'
import { RESUME_SERVER } from './resume-server.ts'
import { RETRY } from './retry.ts'
import { SEND_EVENT } from './send-event.ts'
import { START_OPERATION } from './start-operation.ts'
import { STOP_EVENT } from './stop-event.ts'
import { STOP_OPERATION } from './stop-operation.ts'
import { ADD_TAGS, PUT_TAGS, REMOVE_TAGS } from './tags.ts'
import { TERMINATE } from './terminate.ts'
import { WAIT_FOR } from './wait-for.ts'
import { WITHDRAW } from './withdraw.ts'

export const CALLS: readonly Call[] = [
  EXECUTE,
  SEND_EVENT,
  GET_EVENT,
  LIST_PENDING,
  WITHDRAW,
  STOP_EVENT,
  TERMINATE,
  RETRY,
  PAUSE,
  RESUME,
  LIST_CONTEXTS,
  COUNT_CONTEXTS,
  GET_CONTEXT,
  GET_STATE,
  GET_CONTEXT_EVENTS,
  WAIT_FOR,
  ADD_TAGS,
  PUT_TAGS,
  REMOVE_TAGS,
  GET_DEFINITION,
  GET_SERVICE_SCHEMA,
  LIST_SERVICES,
  GET_MACHINE,
  LIST_WEBHOOKS,
  LIST_DELIVERIES,
  REPLAY_DELIVERY,
  START_OPERATION,
  GET_OPERATIONS,
  STOP_OPERATION,
  RESUME_SERVER,
]
