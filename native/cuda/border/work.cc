// See work.h.

#include "work.h"

#include <new>

#include "../engine/device.h"

namespace reverie::border {

Work::Work(Napi::Env env, Job job, Result result)
    : Napi::AsyncWorker(env, "reverie-cuda"), deferred_(Napi::Promise::Deferred::New(env)), job_(std::move(job)), result_(std::move(result)) {}

Napi::Promise Work::begin(Napi::Env env, Job job, Result result, const std::vector<Napi::Value>& kept) {
  auto* work = new Work(env, std::move(job), std::move(result));
  for (const Napi::Value& value : kept) {
    if (value.IsObject()) work->kept_.push_back(Napi::Persistent(value.As<Napi::Object>()));
  }
  const Napi::Promise promise = work->deferred_.Promise();
  work->Queue();
  return promise;
}

void Work::Execute() {
  try {
    job_();
    return;
  } catch (const OutOfMemory& error) {
    failure_ = {"out-of-memory", error.what(), error.code};
  } catch (const DeviceError& error) {
    failure_ = {error.code == 2 ? "out-of-memory" : "failed", error.what(), error.code};
  } catch (const Unavailable& error) {
    failure_ = {"unavailable", error.what()};
  } catch (const std::invalid_argument& error) {
    failure_ = {"unsupported", error.what()};
  } catch (const std::bad_alloc&) {
    failure_ = {"out-of-memory", "out of host memory"};
  } catch (const std::exception& error) {
    failure_ = {"failed", error.what()};
  } catch (...) {
    failure_ = {"failed", "something that is no error was thrown"};
  }
  SetError(failure_.message);
}

void Work::OnOK() {
  const Napi::HandleScope scope(Env());
  try {
    deferred_.Resolve(result_(Env()));
  } catch (const Napi::Error& error) {
    deferred_.Reject(error.Value());
  }
}

void Work::OnError(const Napi::Error& error) {
  const Napi::HandleScope scope(Env());
  Napi::Object value = error.Value().As<Napi::Object>();
  value.Set("kind", failure_.kind);
  value.Set("driverCode", failure_.driverCode);
  deferred_.Reject(value);
}

}  // namespace reverie::border
