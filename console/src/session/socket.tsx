import { createContext, type ReactNode, useContext, useEffect, useMemo } from 'react'
import { createLiveSocket, type LiveSocket } from './client.ts'

const SocketContext = createContext<LiveSocket | null>(null)

/** One WebSocket for every subscription of the tab. */
export function SocketProvider({ children }: { children: ReactNode }) {
  const socket = useMemo(() => createLiveSocket(), [])
  useEffect(() => () => void socket.client.terminate(), [socket])
  return <SocketContext value={socket}>{children}</SocketContext>
}

export function useSocket(): LiveSocket {
  const socket = useContext(SocketContext)
  if (socket === null) throw new Error('there is no SocketProvider')
  return socket
}
