// The session travels through the component tree.
import { getContext, setContext } from 'svelte'
import type { Session } from './session.svelte'

/** Key of the context, for tests that render a part of the tree. */
export const SESSION = Symbol('session')

export function provideSession(session: Session): Session {
  return setContext(SESSION, session)
}

export function useSession(): Session {
  return getContext<Session>(SESSION)
}
