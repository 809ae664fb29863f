import type { Client } from 'graphql-ws'
import { createContext, type ReactNode, useContext, useEffect, useMemo } from 'react'
import { createSocketClient } from './client.ts'

const SocketContext = createContext<Client | null>(null)

/** One WebSocket for every subscription of the tab, open while there is one. */
export function SocketProvider({ token, children }: { token: string; children: ReactNode }) {
  const socket = useMemo(() => createSocketClient(token), [token])
  useEffect(() => () => void socket.dispose(), [socket])
  return <SocketContext value={socket}>{children}</SocketContext>
}

export function useSocket(): Client {
  const socket = useContext(SocketContext)
  if (socket === null) throw new Error('there is no SocketProvider')
  return socket
}
