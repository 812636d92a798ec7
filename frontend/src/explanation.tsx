export interface Payload { [key: string]: unknown }
export function ExplanationView({ payload, tau, onTau }: { payload: Payload; tau: number; onTau: (tau: number) => void }) {
  return <div><input type="range" min={0.01} max={1} step={0.01} value={tau} onInput={(e) => onTau(Number(e.currentTarget.value))} /><pre>{JSON.stringify(payload).slice(0, 400)}</pre></div>;
}
