// Words of the protocol between the measuring script and the harness.
#include "request.h"

#include <cmath>
#include <cstdio>
#include <sstream>
#include <stdexcept>

namespace reverie::bench {

std::string Request::text(const std::string& key) const {
  const auto found = values.find(key);
  if (found == values.end()) throw std::invalid_argument("missing: " + key);
  return found->second;
}

std::string Request::text(const std::string& key, const std::string& fallback) const {
  return values.count(key) ? values.at(key) : fallback;
}

long Request::integer(const std::string& key) const { return std::stol(text(key)); }

long Request::integer(const std::string& key, long fallback) const {
  return values.count(key) ? std::stol(values.at(key)) : fallback;
}

Request parseRequest(const std::string& line) {
  std::istringstream words(line);
  Request request;
  words >> request.method;
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    if (equals == std::string::npos) throw std::invalid_argument("not key=value: " + word);
    request.values[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return request;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + "\"";
}

namespace {

std::string numberText(double number) {
  if (!std::isfinite(number)) return "null";
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", number);
  return text;
}

}  // namespace

JsonObject& JsonObject::putJson(const std::string& key, const std::string& json) {
  inside_ += (inside_.empty() ? "" : ",") + quoted(key) + ":" + json;
  return *this;
}

JsonObject& JsonObject::put(const std::string& key, const std::string& text) { return putJson(key, quoted(text)); }
JsonObject& JsonObject::put(const std::string& key, double number) { return putJson(key, numberText(number)); }
JsonObject& JsonObject::put(const std::string& key, bool value) { return putJson(key, value ? "true" : "false"); }

JsonObject& JsonObject::put(const std::string& key, const std::vector<double>& numbers) {
  std::string list;
  for (const double number : numbers) list += (list.empty() ? "" : ",") + numberText(number);
  return putJson(key, "[" + list + "]");
}

}  // namespace reverie::bench
